"""Questions with known answers, asked many times, judged and reported: the Data Agent Benchmark and a team's own file.

In: questions, environments, a model. Out: attempts on disk, figures, reports. Stands after answering: an attempt is
`coset.answering.ask` and nothing else, so that what is measured is what a user gets.
"""
