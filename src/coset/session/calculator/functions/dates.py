"""The calendar: dates are given as text (2024-02-29) or by date(...), and days count from one to the other."""

from __future__ import annotations

import calendar
import datetime

from coset.errors import UserError
from coset.session.calculator import arithmetic
from coset.session.calculator.arithmetic import add_months as month_step
from coset.session.calculator.arithmetic import quotient
from coset.session.calculator.functions.signature import Day, Days, Group, Moment, Number, Value, Whole
from coset.session.calculator.values import is_number, shown, spend

DATES = Group.named("Dates")


@DATES.function
def date(year_or_text: Value, *month_day: Whole) -> Value:
    """The date of a text that starts with the year, or of year, month and day.

    date("2024-02-29") = 2024-02-29
    date("20240229") = 2024-02-29
    date("2024-W09-4") = 2024-02-29
    date(2024, 2, 29) = 2024-02-29
    """
    if isinstance(year_or_text, str) and not month_day:
        return arithmetic.as_date(arithmetic.read_moment(year_or_text))
    if isinstance(year_or_text, datetime.date) and not month_day:
        return arithmetic.as_date(year_or_text)
    if is_number(year_or_text) and len(month_day) == 2 and year_or_text == int(year_or_text):
        try:
            return datetime.date(int(year_or_text), *month_day)
        except (ValueError, OverflowError):
            raise UserError("date: there is no such day in the calendar, give year, month and day") from None
    raise UserError(f'date expects a text like "2024-02-29", or year, month and day, but got {shown(year_or_text)}')


@DATES.function
def datetime_(text: Moment) -> Value:
    """The date and time of a text, with or without a time zone; a date alone is its midnight.

    datetime("2024-02-29 13:45") = 2024-02-29 13:45:00
    datetime("2024-02-29T13:45:00Z") = 2024-02-29 13:45:00+00:00
    """
    return arithmetic.as_datetime(text)


@DATES.function
def days_between(start: Day, end: Day) -> Number:
    """Days from start to end, as end - start; negative when end is earlier.

    days_between("2024-02-28", "2024-03-01") = 2
    """
    return (end - start).days


@DATES.function
def hours_between(start: Moment, end: Moment) -> Number:
    """Hours from start to end.

    hours_between("2024-01-01 00:00", "2024-01-01 01:30") = 1.5
    """
    return quotient(arithmetic.microseconds_from(start, end), 3_600_000_000)


@DATES.function
def minutes_between(start: Moment, end: Moment) -> Number:
    """Minutes from start to end.

    minutes_between("2024-01-01 00:00", "2024-01-01 01:30") = 90
    """
    return quotient(arithmetic.microseconds_from(start, end), 60_000_000)


@DATES.function
def seconds_between(start: Moment, end: Moment) -> Number:
    """Seconds from start to end.

    seconds_between("2024-01-01 00:00:00", "2024-01-01 00:00:01.5") = 1.5
    """
    return quotient(arithmetic.microseconds_from(start, end), 1_000_000)


@DATES.function
def weeks_between(start: Day, end: Day) -> Number:
    """Complete weeks from start to end.

    weeks_between("2024-01-01", "2024-01-20") = 2
    """
    days = (end - start).days
    return days // 7 if days >= 0 else -(-days // 7)


@DATES.function
def months_between(start: Moment, end: Moment) -> Number:
    """Complete months from start to end.

    months_between("2024-01-31", "2024-02-29") = 1
    months_between("2024-01-15", "2024-03-14") = 1
    """
    return arithmetic.months_from(start, end)


@DATES.function
def years_between(start: Moment, end: Moment) -> Number:
    """Complete years from start to end.

    years_between("2020-06-15", "2024-06-14") = 3
    """
    months = arithmetic.months_from(start, end)
    return months // 12 if months >= 0 else -(-months // 12)


@DATES.function
def age(born: Day, on: Day) -> Number:
    """How many years old someone born on one day is on another.

    age("1990-05-20", "2024-05-19") = 33
    """
    if on < born:
        raise UserError("age expects the day of birth first, and a day that is not before it")
    return arithmetic.months_from(born, on) // 12


@DATES.function
def working_days_between(start: Day, end: Day, holidays: Days = ()) -> Number:
    """Days from Monday to Friday from start up to, but not including, end, without the holidays given.

    working_days_between("2024-03-01", "2024-03-08") = 5
    working_days_between("2024-12-23", "2024-12-30", ["2024-12-25"]) = 4
    """
    if end < start:
        return -_working_days(end, start, holidays)
    return _working_days(start, end, holidays)


@DATES.function
def add_days(date: Moment, days: Whole) -> Value:
    """The date so many days later, as date + days.

    add_days("2024-02-28", 2) = 2024-03-01
    """
    return arithmetic.add_days(date, days)


@DATES.function
def add_weeks(date: Moment, weeks: Whole) -> Value:
    """The date so many weeks later.

    add_weeks("2024-02-28", 1) = 2024-03-06
    """
    return arithmetic.shift(date, weeks, "weeks")


@DATES.function
def add_months(date: Moment, months: Whole) -> Value:
    """The same day so many months later, or the last day of a shorter month.

    add_months("2024-01-31", 1) = 2024-02-29
    """
    return month_step(date, months)


@DATES.function
def add_years(date: Moment, years: Whole) -> Value:
    """The same day so many years later; 29 February becomes 28 where there is none.

    add_years("2024-02-29", 1) = 2025-02-28
    """
    return month_step(date, 12 * years)


@DATES.function
def add_hours(date: Moment, hours: Whole) -> Value:
    """The date and time so many hours later.

    add_hours("2024-02-28 23:00", 2) = 2024-02-29 01:00:00
    """
    return arithmetic.shift(arithmetic.as_datetime(date), hours, "hours")


@DATES.function
def add_minutes(date: Moment, minutes: Whole) -> Value:
    """The date and time so many minutes later.

    add_minutes("2024-02-28 23:30", 45) = 2024-02-29 00:15:00
    """
    return arithmetic.shift(arithmetic.as_datetime(date), minutes, "minutes")


@DATES.function
def year(date: Day) -> Number:
    """The year.

    year("2024-02-29") = 2024
    """
    return date.year


@DATES.function
def quarter(date: Day) -> Number:
    """The quarter, 1 to 4.

    quarter("2024-05-01") = 2
    """
    return (date.month + 2) // 3


@DATES.function
def month(date: Day) -> Number:
    """The month, 1 to 12.

    month("2024-02-29") = 2
    """
    return date.month


@DATES.function
def day(date: Day) -> Number:
    """The day of the month.

    day("2024-02-29") = 29
    """
    return date.day


@DATES.function
def hour(date: Moment) -> Number:
    """The hour, 0 to 23.

    hour("2024-02-29 13:45") = 13
    """
    return arithmetic.as_datetime(date).hour


@DATES.function
def minute(date: Moment) -> Number:
    """The minute, 0 to 59.

    minute("2024-02-29 13:45") = 45
    """
    return arithmetic.as_datetime(date).minute


@DATES.function
def day_of_year(date: Day) -> Number:
    """The day of the year, 1 to 366.

    day_of_year("2024-03-01") = 61
    """
    return date.timetuple().tm_yday


@DATES.function
def weekday(date: Day) -> Value:
    """The name of the day of the week.

    weekday("2024-02-29") = Thursday
    """
    names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    return names[date.weekday()]


@DATES.function
def weekday_number(date: Day) -> Number:
    """The day of the week, 1 for Monday to 7 for Sunday.

    weekday_number("2024-02-29") = 4
    """
    return date.isoweekday()


@DATES.function
def iso_week(date: Day) -> Number:
    """The week of the ISO year, 1 to 53; weeks start on Monday.

    iso_week("2024-12-30") = 1
    """
    return date.isocalendar().week


@DATES.function
def iso_year(date: Day) -> Number:
    """The year that the ISO week of the date belongs to.

    iso_year("2024-12-30") = 2025
    """
    return date.isocalendar().year


@DATES.function
def days_in_month(date: Day) -> Number:
    """How many days the month of the date has.

    days_in_month("2023-02-10") = 28
    """
    return calendar.monthrange(date.year, date.month)[1]


@DATES.function
def is_leap_year(year: Whole) -> Value:
    """Whether the year has a 29 February.

    is_leap_year(1900) = false
    """
    return calendar.isleap(year)


@DATES.function
def start_of_week(date: Day) -> Value:
    """The Monday of the week.

    start_of_week("2024-02-29") = 2024-02-26
    """
    return arithmetic.shift(date, -date.weekday(), "days")


@DATES.function
def end_of_week(date: Day) -> Value:
    """The Sunday of the week.

    end_of_week("2024-02-29") = 2024-03-03
    """
    return arithmetic.shift(date, 6 - date.weekday(), "days")


@DATES.function
def start_of_month(date: Day) -> Value:
    """The first day of the month.

    start_of_month("2024-02-29") = 2024-02-01
    """
    return date.replace(day=1)


@DATES.function
def end_of_month(date: Day) -> Value:
    """The last day of the month.

    end_of_month("2024-02-10") = 2024-02-29
    """
    return _last_day(date.year, date.month)


@DATES.function
def start_of_quarter(date: Day) -> Value:
    """The first day of the quarter.

    start_of_quarter("2024-05-20") = 2024-04-01
    """
    return date.replace(month=(date.month - 1) // 3 * 3 + 1, day=1)


@DATES.function
def end_of_quarter(date: Day) -> Value:
    """The last day of the quarter.

    end_of_quarter("2024-05-20") = 2024-06-30
    """
    return _last_day(date.year, (date.month - 1) // 3 * 3 + 3)


@DATES.function
def start_of_year(date: Day) -> Value:
    """The first day of the year.

    start_of_year("2024-05-20") = 2024-01-01
    """
    return date.replace(month=1, day=1)


@DATES.function
def end_of_year(date: Day) -> Value:
    """The last day of the year.

    end_of_year("2024-05-20") = 2024-12-31
    """
    return date.replace(month=12, day=31)


def _last_day(year: int, month: int) -> datetime.date:
    return datetime.date(year, month, calendar.monthrange(year, month)[1])


def _working_days(start: datetime.date, end: datetime.date, holidays: Days) -> int:
    days = (end - start).days
    spend(10 * len(holidays))
    full_weeks, rest = divmod(days, 7)
    working = 5 * full_weeks + sum((start.weekday() + offset) % 7 < 5 for offset in range(rest))
    return working - sum(start <= holiday < end and holiday.weekday() < 5 for holiday in set(holidays))
