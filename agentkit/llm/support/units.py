"""Units of measure by the names they are written with: what each measures, and how much of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Unit(NamedTuple):
    """So many times the base of one of these kinds; a cent may be one of a euro or of a dollar."""

    kinds: frozenset[str]
    factor: float

    def measure(self, values: Iterable[float]) -> list[float]:
        """The values in the base unit of its kind."""
        return [value * self.factor for value in values]


_TABLE = [
    ("percent", 1, "% percent percents percentage prozent pourcent porciento"),
    ("time", 1, "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos"),
    ("time", 60, "min mins minute minutes minuten minuto minutos"),
    ("time", 3_600, "h hr hrs hour hours stunde stunden heure heures hora horas"),
    ("time", 86_400, "day days tag tage tagen jour jours día días"),
    ("time", 604_800, "week weeks woche wochen semaine semaines semana semanas"),
    ("months", 1, "month months monat monate monaten mois mes meses"),
    ("months", 12, "year years jahr jahre jahren an ans année années año años"),
    ("months", 120, "decade decades jahrzehnt jahrzehnte jahrzehnten"),
    ("EUR", 1, "€ eur euro euros"),
    ("USD", 1, "$ usd us$ dollar dollars"),
    ("CHF", 1, "chf franken francs"),
    ("JPY", 1, "¥ yen"),
    ("GBP", 1, "£ gbp"),
    ("GBP pounds", 1, "pound pounds pfund"),
    ("EUR USD", 0.01, "cent cents"),
    ("GBP", 0.01, "pence penny"),
    ("length", 0.001, "mm millimetre millimetres millimeter millimeters millimetern"),
    ("length", 0.01, "cm centimetre centimetres centimeter centimeters zentimeter zentimetern"),
    ("length", 1, "m metre metres meter meters metern mètre mètres metro metros"),
    (
        "length",
        1_000,
        "km kilometre kilometres kilometer kilometers kilometern kilomètres kilómetros",
    ),
    ("length", 1_609.344, "mile miles meile meilen"),
    ("length", 0.3048, "ft foot feet"),
    ("length", 0.0254, "inch inches zoll"),
    ("area", 1, "m2 m²"),
    ("area", 10_000, "ha hectare hectares hektar"),
    ("area", 1_000_000, "km2 km²"),
    ("mass", 0.000_001, "µg μg mcg"),
    ("mass", 0.001, "mg milligram milligrams milligramm"),
    ("mass", 1, "g gram grams gramme grammes gramm"),
    ("mass", 1_000, "kg kilo kilos kilogram kilograms kilogramm"),
    ("mass", 1_000_000, "t tonne tonnes ton tons tonnen"),
    ("volume", 0.001, "ml millilitre millilitres milliliter milliliters"),
    ("volume", 0.01, "cl"),
    ("volume", 1, "l litre litres liter liters litern"),
    ("celsius", 1, "°c celsius"),
    ("fahrenheit", 1, "°f fahrenheit"),
    ("celsius fahrenheit angle", 1, "° degree degrees grad degrés grados"),
    ("data", 1, "kb kilobyte kilobytes"),
    ("data", 1_000, "mb megabyte megabytes"),
    ("data", 1_000_000, "gb gigabyte gigabytes"),
    ("data", 1_000_000_000, "tb terabyte terabytes"),
    ("power", 1, "w watt watts"),
    ("power", 1_000, "kw kilowatt kilowatts"),
    ("power", 1_000_000, "MW megawatt megawatts"),
    ("energy", 1, "kwh"),
    ("torque", 1, "nm"),
    ("pressure", 1, "bar"),
    ("voltage", 1, "v volt volts"),
    ("current", 1, "amp amps ampere"),
    ("frequency", 1, "hz"),
    ("frequency", 1_000_000, "mhz"),
    ("frequency", 1_000_000_000, "ghz"),
    ("speed", 1, "km/h kmh"),
    ("speed", 1.609_344, "mph"),
]
UNITS = {
    name: Unit(frozenset(kinds.split()), factor)
    for kinds, factor, names in _TABLE
    for name in names.split()
}
"""Units by every spelling, in lower case unless capitals tell them apart."""
