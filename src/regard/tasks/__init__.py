"""Strings to strings: `load` gives a Translator, a Generator or a Classifier, from our folders and Hugging Face's."""

from regard.tasks.classifier import Classifier
from regard.tasks.generator import Generator
from regard.tasks.load_engine import load
from regard.tasks.translator import Translator

__all__ = ["Classifier", "Generator", "Translator", "load"]
