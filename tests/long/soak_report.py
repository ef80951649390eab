"""Report of `soak`: the trend of the samples, and their chart."""

import math
from statistics import NormalDist, fmean

# The mean of each minute is one point of the line, because samples within a minute depend on each
# other.
BLOCK = 60
MIN_BLOCKS = 10
COLORS = {"VmRSS": "#b35c00", "RssAnon": "#1f6fb2", "descriptors": "#444444", "threads": "#8a2be2"}


class Trend:
    """Line through samples, by least squares: slope per hour with its 95 % confidence interval."""

    def __init__(self, times, values):
        """Takes samples with their times in seconds."""
        length = min(BLOCK, (times[-1] - times[0]) / MIN_BLOCKS)
        blocks = {}
        for moment, sample in zip(times, values):
            blocks.setdefault(int((moment - times[0]) / length), []).append((moment / 3600, sample))
        # The last block may have too few samples.
        full = [block for block in blocks.values() if 2 * len(block) > len(blocks[0])]
        hours = [fmean(hour for hour, _ in block) for block in full]
        means = [fmean(sample for _, sample in block) for block in full]
        count, middle, self.mean = len(full), fmean(hours), fmean(means)
        spread = sum((hour - middle) ** 2 for hour in hours)
        self.slope = sum((hour - middle) * mean for hour, mean in zip(hours, means)) / spread
        self.begin = self.mean - self.slope * middle
        rest = [mean - self.begin - self.slope * hour for hour, mean in zip(hours, means)]
        squares = sum(one * one for one in rest)
        # The means may still depend on each other: their number is reduced by their autocorrelation.
        correlation = sum(one * other for one, other in zip(rest, rest[1:])) / squares if squares else 0
        correlation = min(max(correlation, 0), 0.99)
        self.independent = max(count * (1 - correlation) / (1 + correlation), 3)
        freedom = self.independent - 2
        self.error = student(freedom) * math.sqrt(squares / freedom / spread)

    def at(self, seconds):
        return self.begin + self.slope * seconds / 3600

    def grows(self, bound):
        """True if the slope is certainly positive, and not less than the bound."""
        return self.slope - self.error > 0 and self.slope >= bound

    def verdict(self, bound, unit):
        text = f"{self.slope:+.2f} {unit}/h (95 % interval {self.slope - self.error:+.2f} to {self.slope + self.error:+.2f})"
        if self.grows(bound):
            return f"{text}: GROWS"
        if self.slope - self.error <= 0 <= self.slope + self.error:
            return f"{text}: not distinguishable from zero"
        return f"{text}: falls" if self.slope < 0 else f"{text}: below the bound of {bound:g} {unit}/h"


def student(freedom):
    """Returns the 97.5 % quantile of Student's t distribution. The degrees of freedom are rounded
    down."""
    known = {1: 12.706, 2: 4.303}
    if int(freedom) in known:
        return known[int(freedom)]
    z, n = NormalDist().inv_cdf(0.975), int(freedom)
    # Abramowitz and Stegun, 26.7.5
    return (z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3))


def chart(title, times, series, warm_up, trends):
    """Returns a chart of the samples as SVG: memory above, descriptors and threads below."""
    parts = [f'<text x="60" y="24" font-size="15">{title}</text>']
    for names, top, height, unit in ((("VmRSS", "RssAnon"), 50, 260, "MiB"), (("descriptors", "threads"), 370, 110, "")):
        parts += _panel(times, {name: series[name] for name in names}, top, height, unit, warm_up, trends)
    parts.append('<text x="430" y="528" text-anchor="middle">minutes (gray: warm-up)</text>')
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 540" font-family="sans-serif" font-size="12">\n'
            '<rect width="860" height="540" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


def _panel(times, series, top, height, unit, warm_up, trends):
    # The last interval between samples is part of the run.
    left, width, end = 60, 740, 2 * times[-1] - times[-2]
    largest = max(max(values) for values in series.values())
    power = 10 ** math.floor(math.log10(largest))
    step = next(power * part for part in (0.2, 0.5, 1, 2, 5) if largest / power / part <= height / 20)
    ceiling = math.ceil(largest / step) * step

    def x(seconds):
        return left + width * seconds / end

    def y(value):
        return top + height * (1 - value / ceiling)

    parts = [f'<rect x="{left}" y="{top}" width="{x(warm_up) - left:.1f}" height="{height}" fill="#eeeeee"/>']
    for number in range(round(ceiling / step) + 1):
        value = number * step
        parts.append(f'<path d="M{left} {y(value):.1f}h{width}" stroke="#cccccc"/>'
                     f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    parts += [f'<text x="{x(end * part / 6):.1f}" y="{top + height + 16}" text-anchor="middle">{round(end * part / 360, 1):g}</text>'
              for part in range(7)]
    for number, (name, values) in enumerate(series.items()):
        points = " ".join(f"{x(moment):.1f},{y(value):.1f}" for moment, value in zip(times, values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLORS[name]}"/>'
                     f'<text x="{left + 90 * number}" y="{top - 6}" fill="{COLORS[name]}">{name} {unit}</text>')
        trend = trends[name]
        parts.append(f'<path d="M{x(warm_up):.1f} {y(trend.at(warm_up)):.1f}L{x(end):.1f} {y(trend.at(end)):.1f}" '
                     f'stroke="{COLORS[name]}" stroke-width="2" stroke-dasharray="6 4"/>')
    return parts
