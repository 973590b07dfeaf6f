"""Pictures that know nothing of models: colours, numbers, panels, fonts."""
