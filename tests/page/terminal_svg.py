"""Draws what a terminal showed, with its colours, as SVG: tmux capture-pane -e -p | terminal_svg.py TITLE > screen.svg"""

import html
import re
import sys

CELL, LINE, MARGIN, BAR = 8.4, 18, 12, 28
BACK, INK = "#14171d", "#e3e6ee"
# The sixteen colours, as readable on a dark back; the cube and the greys follow.
NAMED = ["#3a404c", "#e0605e", "#35c99a", "#e69f00", "#56b4e9", "#c78ae0", "#5fc8c8", "#c9ced9",
         "#7d8594", "#ff8a7a", "#6fe3bb", "#f5c453", "#8fd0f7", "#deb0f0", "#8fe3e3", "#ffffff"]


def colour(number):
    if number < 16:
        return NAMED[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    steps = [0, 95, 135, 175, 215, 255]
    number -= 16
    return "#" + "".join(f"{steps[number // part % 6]:02x}" for part in (36, 6, 1))


class Style:
    def __init__(self):
        self.reset()

    def reset(self):
        self.ink, self.back, self.bold, self.dim, self.turned, self.line = None, None, False, False, False, False

    def take(self, codes):
        codes = [int(code or 0) for code in re.split("[;:]", codes)]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (1, 2, 4, 7):
                setattr(self, {1: "bold", 2: "dim", 4: "line", 7: "turned"}[code], True)
            elif code == 22:
                self.bold = self.dim = False
            elif code in (24, 27):
                setattr(self, {24: "line", 27: "turned"}[code], False)
            elif code in (38, 48):
                kind = codes.pop(0) if codes else 0
                value = colour(codes.pop(0)) if kind == 5 else "#" + "".join(f"{codes.pop(0):02x}" for _ in range(3))
                setattr(self, "ink" if code == 38 else "back", value)
            elif code in (39, 49):
                setattr(self, "ink" if code == 39 else "back", None)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.ink = colour(code - 30 if code < 90 else code - 82)
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.back = colour(code - 40 if code < 100 else code - 92)

    def colours(self):
        ink, back = self.ink or INK, self.back or BACK
        return (back, ink) if self.turned else (ink, back)

    def looks(self):
        ink, _ = self.colours()
        return f'fill="{ink}"' + (' font-weight="bold"' if self.bold else "") + (' opacity="0.7"' if self.dim else "") + \
            (' text-decoration="underline"' if self.line else "")


def draw(lines, title):
    style, boxes, texts, width = Style(), [], [], 0
    for y, line in enumerate(lines):
        x = 0
        for part in re.split("(\x1b\\[[0-9;:]*m)", line):
            if part.startswith("\x1b["):
                style.take(part[2:-1])
                continue
            part = re.sub("\x1b.|[\x00-\x1f\x7f]", "", part)
            if not part:
                continue
            left, top = MARGIN + x * CELL, BAR + MARGIN + y * LINE
            if style.colours()[1] != BACK:
                boxes.append(f'<rect x="{left:.1f}" y="{top}" width="{len(part) * CELL:.1f}" height="{LINE}" fill="{style.colours()[1]}"/>')
            # Words with one blank between them are one text: as long as their cells, whatever the font.
            for run in re.finditer(r"\S+(?: \S+)*", part):
                at, room = left + run.start() * CELL, len(run[0]) * CELL
                texts.append(f'<text x="{at:.1f}" y="{top + 13}" textLength="{room:.1f}" lengthAdjust="spacingAndGlyphs" '
                             f'{style.looks()}>{html.escape(run[0])}</text>')
            x += len(part)
        width = max(width, x)
    wide, tall = 2 * MARGIN + width * CELL, BAR + 2 * MARGIN + len(lines) * LINE
    dots = "".join(f'<circle cx="{16 + 16 * i}" cy="14" r="5" fill="#5b6472"/>' for i in range(3))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {tall}" width="{wide:.0f}" height="{tall}" role="img" '
            f'font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="14">\n'
            f'<title>{html.escape(title)}</title><rect width="100%" height="100%" rx="8" fill="{BACK}"/>{dots}'
            f'<text x="{wide / 2:.0f}" y="19" text-anchor="middle" font-size="13" fill="#9aa2b1">{html.escape(title)}</text>\n'
            + "\n".join(boxes + texts) + "\n</svg>\n")


if __name__ == "__main__":
    shown = sys.stdin.read().rstrip("\n").split("\n")
    sys.stdout.write(draw(shown, sys.argv[1]))
