"""The words of English questions that mean an operation, and those that mean nothing by themselves.

In: nothing. Out: phrases by the operator they stand for. A word that is neither here nor in the data is not
understood, and the question is then declined: that is what keeps answers right.
"""

from __future__ import annotations

from typing import Literal

Operator = Literal[
    "count", "distinct", "avg", "sum", "max", "min", "most", "least", "commonest", "each", "order", "descending",
    "ascending", "neither", "largest", "smallest", "everything", "more", "fewer",
    "than",
    ">", ">=", "<", "<=", "=", "between", "not", "and", "or", "both", "share", "of", "from", "top",
    "like", "clause", "all", "sentence",
]  # fmt: skip

_PHRASES: dict[Operator, str] = {
    "count": "how many|number of|total number of|count the number of|count of|count",
    "distinct": "different|distinct|unique",
    "avg": "average|mean",
    "sum": "total|sum|sum of|total of|combined|overall|how much",
    "max": "maximum|max|highest|largest|greatest|biggest|latest",
    "min": "minimum|min|lowest|smallest|earliest",
    "most": "most|most number of|largest number of|greatest number of|highest number of|biggest number of|"
            "the most number of|most of|largest amount of|highest amount of|most amount of",
    "least": "fewest|least|smallest number of|lowest number of|least number of|fewest number of|"
             "smallest amount of|lowest amount of|least amount of",
    "commonest": "most common|most frequent|most popular|most frequently used|most commonly used|most used|"
                 "most often used",
    "each": "each|for each|of each|in each|per|for every|every|by each|with each|grouped by|corresponding to each",
    "order": "ordered by|sorted by|sort by|order by|in order by|in order of|listed by|sorted in|ordered in|order of|"
             "arranged by|ordered|sorted|order|sort|sort the list by|order the list by|sorted in the|ordered in the|"
             "ranked by",
    "descending": "descending|descending order of|in descending order of|in descending order|descending order|"
                  "from high to low|decreasing order|in decreasing order of|in decreasing order|descending by|"
                  "in the descending order of|in the descending order|from highest to lowest|from most to least|"
                  "decreasing|by decreasing|"
                  "in descending alphabetical order of|in descending alphabetical order|in reverse alphabetical order",
    "ascending": "ascending|ascending order of|in ascending order of|in ascending order|ascending order|alphabetically|"
                 "in alphabetical order|in alphabetical order of|in the alphabetical order of|alphabetical order|"
                 "alphabetical order of|lexicographical order|in lexicographical order|in ascending alphabetical order|"
                 "in alphabetic order|in alphabetic order of|ascending by|in the ascending order of|from low to high|"
                 "in the ascending order|from lowest to highest|in increasing order|in increasing order of|"
                 "increasing|by increasing|"
                 "in lexicographic order|in lexicographic order of|in lexicographical order of|in ascending order by|"
                 "in ascending alphabetical order of",
    ">": "more than|greater than|over|above|higher than|larger than|exceeding|bigger than|older than|longer than|"
         "is more than|is greater than|is larger than|is above|is over|is higher than|after|later than|are above|"
         "are greater than|are higher than|are larger than|are more than|are over",
    ">=": "at least|no less than|not less than|or more|since|or above|or higher|or later|or greater|as least|"
          "or older|or after|or newer|or longer|or over",
    "<": "less than|under|below|lower than|smaller than|fewer than|younger than|shorter than|is less than|is below|"
         "is lower than|is smaller than|before|earlier than|are below|are less than|are lower than|are smaller than|"
         "are under",
    "<=": "at most|no more than|not more than|up to|or less|or fewer|or below|or lower|or earlier|not exceeding|"
          "or before|or younger|or shorter|or under",
    "=": "exactly|equal to|equals|is|are|was|named|called|is called|is named|with the name|by the name of",
    "between": "between|ranging from|in the range of|within the range of|in the range|within the range|in a range of",
    "not": "not|never|no|without|do not have|does not have|did not|do not|does not|don t|doesn t|didn t|have no|"
           "has no|have not|has not|isn t|aren t|is not|are not|that are not|who are not|have never|has never|"
           "do not have any|does not have any|don t have any|without any|did not have any|don t have|have not had|"
           "but not|other than|except|excluding|which are not|do not have a|does not have a|never had|have never had",
    "and": "and|as well as|along with|together with|also|but|and also|but also|plus|and then",
    "or": "or|nor",
    "neither": "neither|neither of",
    "both": "both",
    "share": "what share of|share of|percentage of|what percentage of|proportion of|fraction of|what percent of|"
             "percent of|what fraction of|what proportion of",
    "of": "of|s|for all|of all|of all the|for all the|of the|for the|for",
    "from": "comes from|come from|came from|is from|are from|belong to|belongs to",
    "top": "top|first",
    "like": "containing|contains|contain|like|includes the word|containing the word|contain the word|contains the word|"
            "contain the string|contains the string|contain the substring|contains the substring|with the substring|"
            "containing the substring|containing the letter|contain the letter|contain letter|contains the letter|"
            "have the word|has the word|have the substring|has the substring|with the word|with substring|"
            "include the word|including the word|contains substring|contain substring|containing substring",
    "clause": "with|whose|that|who|where|having|which have|which has|that have|that has|who have|who has|has|have|had|"
              "when|from|in the|in|at|on|of the|which",
    "more": "more|higher|greater|larger|bigger",
    "fewer": "fewer|less|lower|smaller",
    "than": "than",
    "everything": "all information about|all the information about|all information of|all info about|everything about|"
                  "information about|the information about|all the information of|all the details of|all details of|"
                  "all details about|all the details about|information on|all information on|all columns of",
    "all": "all the|all|either|across all|across|in total|in all|any of|any of the|every single",
}  # fmt: skip

OPERATORS: dict[tuple[str, ...], Operator] = {
    tuple(phrase.split()): operator for operator, phrases in _PHRASES.items() for phrase in phrases.split("|")
}
OPERATORS[("of", "the")] = "of"
LONGEST = max(map(len, OPERATORS))

ASKING = frozenset(("what", "which", "who", "whose"))
FILLERS = frozenset(
    """a an the what which who list show find give return me please tell us display is are was were be been do does
    did there their its it they these those this them to by into available any some you can could i want know get
    identify out make made use uses used using report reports reported mention mentions hold holds held belong belongs
    located lie lies appear appears exist exists existing come comes recorded respectively
    our we placed stored provide retrieve live lives lived living work works working written wrote write publish
    published submit submitted teach teaches taught take takes took taken offer offers offered contain contained
    include included includes associated corresponding correspond corresponds related affiliated produce produces
    produced own owns owned attend attends attended participate participates participated play plays played study
    studies studied stay stays stayed invest invested listed currently as compute calculate select return returns
    his her he she him hers record records database received receives receive involved appear appeared happened
    happen occurred occur showed given shown within entire whole respective also along together among
    really altogether values value being such see query would
    serve serves served run runs go goes went gone coming going belonging holding based operate operates operated
    buy buys bought purchase purchases purchased sell sells sold lead leads led support supports supported supporting
    anything ever
    earn earns earned employ employs employed assigned sing sings sang sung give gives gave
    about still already shared came bring brings brought last lasts lasted concern concerns concerning
    """.split()  # noqa: SIM905 - a list of words is read best as words
)  # fmt: skip
"""Asking verbs, articles, and light verbs that only say that one thing stands in relation to another."""

PAST = {
    "win": "won",
    "lose": "lost",
    "sell": "sold",
    "pay": "paid",
    "send": "sent",
    "break": "broken",
    "begin": "begun",
}
"""What things are called to which that was done, where the verb is irregular: states are stored so (`won`)."""
EVENTS = frozenset(
    """released opened started founded established built launched created occurred happened held issued began begun
    formed introduced""".split()  # noqa: SIM905
)
"""Verbs of what happens to a thing once. Before a date they speak of the one date that the thing has, if its name says
nothing else."""
DATE_WORDS = frozenset("date year day time timestamp datetime month at on of in the".split())  # noqa: SIM905

NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "once": 1, "twice": 2,
}  # fmt: skip
UNIT_WORDS = frozenset(
    """eur usd gbp cents cent euro euros dollars dollar kg g km cm mm m mb gb ms sec percent million millions billion
    billions feet foot ft inch inches metres meters metre meter miles mile lbs pounds celsius l litre litres liter
    liters""".split()  # noqa: SIM905
)
"""Words at the end of a column's name that say its unit, and that nobody repeats in a question."""
SIZES: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("eur", "euro", "euros", "€"), ("euro", 1.0)),
    **dict.fromkeys(("usd", "dollar", "dollars", "$"), ("dollar", 1.0)),
    **dict.fromkeys(("gbp", "£"), ("pound sterling", 1.0)),
    **dict.fromkeys(("sec", "secs", "second", "seconds", "s"), ("time", 1.0)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), ("time", 60.0)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("time", 3_600.0)),
    **dict.fromkeys(("g", "gram", "grams"), ("weight", 0.001)),
    **dict.fromkeys(("kg", "kilogram", "kilograms"), ("weight", 1.0)),
    **dict.fromkeys(("mm",), ("length", 0.001)), **dict.fromkeys(("cm",), ("length", 0.01)),
    **dict.fromkeys(("m", "metre", "meter", "metres", "meters"), ("length", 1.0)), "km": ("length", 1_000.0),
}  # fmt: skip
"""What a unit measures, and how much of it."""
CENTS = frozenset(("cent", "cents", "pence"))
MONEY = frozenset(("euro", "dollar", "pound sterling"))
QUANTITIES = frozenset((("units",), ("unit",), ("pieces",), ("copies",)))
"""Words for how much of a thing was sold, held or used, whatever else their stems name."""
QUANTITY_WORDS = frozenset(("quantity", "qty", "units", "unit", "pieces", "count", "sold", "number", "num"))
"""Words of a column that may hold such a quantity; litres are no pieces."""
AMOUNTS = frozenset(("amount", "value", "total", "price", "cost", "sum", "paid", "fee", "charge"))
"""Words of the column that is meant where only its table is named: `the total refund`."""
SAME_THINGS = tuple(
    frozenset(words.split())
    for words in (
        "customer client buyer", "employee staff worker personnel", "store shop", "product article", "supplier vendor",
        "invoice bill", "company firm business enterprise", "country nation", "movie film", "doctor physician",
        "teacher instructor", "student pupil", "song track", "car automobile", "shipment consignment",
        "apartment flat", "person people", "airplane aircraft plane", "author writer", "town city",
    )
)  # fmt: skip
"""Words for one thing. That two tables play one role is not enough: a driver and a manager are employees both."""
CODE_WORDS = frozenset(("code", "id", "number", "no"))
COUNT_WORDS = frozenset(("number", "count", "total", "amount", "quantity"))
NAMING_WORDS = frozenset(
    "name names number numbers code codes id ids title titles value values amount type types address addresses".split()  # noqa: SIM905
)
"""Words that may follow what names a column already: `director names`, `classroom number`."""

ADJECTIVES: dict[str, tuple[str, ...]] = {
    "tall": ("height",), "heavy": ("weight",), "light": ("weight",), "old": ("age",), "young": ("age",),
    "expensive": ("price", "cost"), "costly": ("cost", "price"), "cheap": ("price", "cost"),
    "long": ("length", "duration"), "short": ("height", "length", "duration"), "fast": ("speed",), "slow": ("speed",),
    "rich": ("wealth",), "populous": ("population",), "recent": ("date", "year", "time"), "new": ("date", "year"),
}  # fmt: skip
"""What an adjective compares: the words that name such a column."""
LESS = frozenset(("light", "young", "cheap", "short", "slow"))
"""Adjectives that mean little of it."""
SEXES = {"female": ("f", "female"), "male": ("m", "male"), "woman": ("f", "female"), "man": ("m", "male"),
         "girl": ("f", "female"), "boy": ("m", "male")}  # fmt: skip
