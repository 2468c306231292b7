"""The best prices of an instrument, whenever they change.

usage: best.py EVENTS INSTRUMENT

EVENTS is a ring of market events, as `stopbit run` writes for a feed with a map: its ring's name and "-events".
"""

import sys

import stopbit


def side(state, name):
    return f"{state[name + '_quantity']} at {state[name]:.4f}" if name in state else "none"


def main(name, instrument):
    ring = stopbit.ring(name, start="newest")
    shown = None

    def show():
        nonlocal shown
        (state,) = (state for state in ring.states() if state["instrument"] == instrument)
        best = f"{side(state, 'bid')} | {side(state, 'ask')} ({state['book']})"
        if best != shown:
            print(best, flush=True)
        shown = best

    show()
    for event in ring:
        # After a loss the table has the newest state.
        is_ours = event.get("instrument") == instrument and "best_changed" in event.get("flags", ())
        if is_ours or event["event"] == "lost":
            show()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
