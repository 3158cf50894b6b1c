"""From a question and its view to a checked answer: arbiter, agent, tools, text operations, audit.

In: a question, an environment that was comprehended, and a model. Out: an `Answer` with the queries behind it. Nothing
here is imported before a question is asked: the model libraries take longer to load than most commands take to run.
"""
