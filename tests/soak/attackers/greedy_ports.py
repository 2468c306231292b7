import json

from attackers.attacker import Attacker, promise


class GreedyPorts(Attacker):
    """Clients of the broker that put mebibytes to themselves, or wake sleepers, as fast as they can."""

    def strike(self):
        wakes = self.random.random() < 0.5
        answer = self.field.inside(self.field.appliance_space, f"{self.field.bin}/stopbit_greedy", "broker.sock", "--seconds",
                                   str(self.random.uniform(0.5, 4)), *(["--wakes"] if wakes else []))
        if answer is None or not self.field.is_running():
            return
        status, out, err = answer
        if status != 0:
            promise(not self.field.runs_on(), f"stopbit_greedy: {out}{err}")
            return
        seen = json.loads(out)
        self.count(asked=seen["asked"], messages=seen["messages"], **{"with_wakes" if wakes else "with_puts": 1})
