"""The local web page, `coset ui`: what was comprehended, to look at, to question and to correct.

In: an `Environment`. Out: pages made on the server, with no build step and nothing from elsewhere. Everything it
shows comes from the functions that the commands use. See docs/ui.md.
"""
