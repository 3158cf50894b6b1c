"""What a question is answered from: the view, what was opened of it, core mode's plain schema, more on demand."""
