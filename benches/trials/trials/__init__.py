"""Loop trials: loop tools, a scripted agent that goes wrong, and a judge that looks at what is left."""
