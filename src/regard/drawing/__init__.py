"""Pictures that know nothing of models: colours, numbers, fonts, panels of curves, heat maps as SVG, PNG and cells."""
