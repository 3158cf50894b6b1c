"""Units of measure: which belong to one dimension, and by what factor they differ.

In: nothing. Out: for each dimension its units, in lower case, with the factor to the dimension's base unit.
Temperatures differ by more than a factor, so theirs says nothing.
"""

from __future__ import annotations

_WRITTEN: dict[str, dict[float, str]] = {
    "mass": {
        1e-6: "mg",
        1e-3: "g, gr, gram, grams",
        1.0: "kg, kgs, kilogram, kilograms",
        1e3: "t, ton, tons, tonne, tonnes",
        0.45359237: "lb, lbs, pound, pounds",
        0.028349523125: "oz, ounce, ounces",
        6.35029318: "st, stone",
    },
    "length": {
        1e-3: "mm",
        1e-2: "cm",
        1.0: "m, meter, meters, metre, metres",
        1e3: "km, kms",
        0.0254: 'in, inch, inches, ", ″',
        0.3048: "ft, feet, foot, ', ′",
        0.9144: "yd, yard, yards",
        1609.344: "mi, mile, miles",
    },
    "volume": {
        1e-3: "ml, cc",
        1e-2: "cl",
        0.1: "dl",
        1.0: "l, liter, liters, litre, litres",
        3.785411784: "gal, gallon, gallons",
        0.0295735295625: "fl oz",
        0.473176473: "pt",
    },
    "time": {
        1e-3: "ms",
        1.0: "s, sec, secs, second, seconds",
        60.0: "min, mins, minute, minutes",
        3600.0: "h, hr, hrs, hour, hours",
        86400.0: "d, day, days",
        604800.0: "wk, week, weeks",
    },
    "months": {1.0: "mo, month, months", 12.0: "yr, yrs, year, years"},
    "data": {
        1.0: "byte, bytes",
        1e3: "kb",
        1e6: "mb",
        1e9: "gb",
        1e12: "tb",
        1024.0: "kib",
        1048576.0: "mib",
        1073741824.0: "gib",
    },
    "speed": {1.0: "km/h, kmh, kph", 1.609344: "mph", 3.6: "m/s", 1.852: "kn, kt, knots"},
    "area": {
        1.0: "m2, m², sqm",
        1e6: "km2, km²",
        0.09290304: "sq ft, sqft, ft², ft2",
        1e4: "ha",
        4046.8564224: "acre, acres",
        2589988.110336: "sq mi",
    },
    "temperature": {1.0: "°c, c, °f, f, k"},
    "frequency": {1.0: "hz", 1e3: "khz", 1e6: "mhz", 1e9: "ghz"},
    "power": {1.0: "w", 1e3: "kw", 1e6: "mw", 745.69987158: "hp"},
    "pressure": {1.0: "pa", 100.0: "hpa, mbar", 1e3: "kpa", 1e5: "bar", 6894.757293: "psi"},
}

DIMENSIONS: dict[str, dict[str, float]] = {
    dimension: {unit: factor for factor, units in by_factor.items() for unit in units.split(", ")}
    for dimension, by_factor in _WRITTEN.items()
}
