"""English words of two senses: sentences for each, written for this, or found in a corpus by their translations."""

from __future__ import annotations

from collections.abc import Sequence

from regard.text.grammar import words

# Of each word, sentences of one sense and of the other.
WRITTEN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bank": (
        (
            "She opened an account at the bank last year.",
            "The bank refused to lend us the money.",
            "My bank charges high interest on loans.",
            "He works for a large bank and sells shares.",
            "The bank lost two million euros on credit.",
            "We paid our savings into the bank.",
            "A customer of the bank asked for his balance.",
            "The central bank has raised its rates.",
        ),
        (
            "The children sat on the bank of the river.",
            "Trees grow along the bank of the stream.",
            "The boat came close to the left bank of the lake.",
            "Water covered the muddy bank after the rain.",
            "We walked down the bank to swim in the river.",
            "The fisherman slept on the grassy bank.",
            "A steep bank leads down to the water.",
            "Ducks were resting on the bank near the bridge.",
        ),
    ),
    "light": (
        (
            "Please turn on the light in the kitchen.",
            "The light of the lamp was too weak to read.",
            "Plants need light and water to grow.",
            "There was no light in the dark room.",
            "The light of the sun came through the window.",
            "He saw a bright light in the sky at night.",
            "The speed of light is very high.",
            "A red light shows that the machine is on.",
        ),
        (
            "This suitcase is light and easy to carry.",
            "She wore a light coat in summer.",
            "We had a light meal before the journey.",
            "Aluminium is a light metal.",
            "The box was so light that a child could lift it.",
            "A light wind moved the leaves.",
            "He only does light work since his illness.",
            "They need a light vehicle of less than one tonne.",
        ),
    ),
    "match": (
        (
            "Our team won the match by two goals.",
            "The match was played in front of many fans.",
            "He was the best player of the match.",
            "We watched the football match on television.",
            "Rain stopped the tennis match in the second set.",
            "The referee ended the match early.",
            "They lost the final match of the season.",
            "Tickets for the match are sold out.",
        ),
        (
            "He lit the candle with a match.",
            "She struck a match to see in the dark.",
            "The fire began with a single match.",
            "A burning match fell on the dry grass.",
            "He took a match from the box and lit his pipe.",
            "Do not give the child a match to play with.",
            "The wet match would not burn.",
            "One match is enough to light the stove.",
        ),
    ),
    "party": (
        (
            "The party won the election in May.",
            "He is the leader of the socialist party.",
            "Every party in parliament voted for the law.",
            "The conservative party lost many seats.",
            "She left the party after the government fell.",
            "A member of the party criticised the minister.",
            "The opposition party rejected the budget.",
            "No party has a majority in the house.",
        ),
        (
            "We danced all night at the birthday party.",
            "She invited her friends to a party on Saturday.",
            "There was music and cake at the party.",
            "I met my wife at a party.",
            "They are giving a party for their wedding.",
            "The children had fun at the party.",
            "Who will bring the drinks to the party?",
            "The neighbours complained of the noisy party.",
        ),
    ),
    "right": (
        (
            "Turn right at the end of the street.",
            "She writes with her right hand.",
            "The door is on the right side of the house.",
            "Cars come from the right at this crossing.",
            "He broke his right leg on the stairs.",
            "The menu is in the upper right corner of the screen.",
            "Move the cursor to the right and click.",
            "His right eye is better than the left one.",
        ),
        (
            "Every citizen has the right to vote.",
            "Workers have a right to a safe workplace.",
            "The law protects the right of the owner.",
            "They denied him the right to appeal.",
            "Education is a fundamental right of children.",
            "The treaty gives us the right to fish.",
            "Nobody has the right to read your letters.",
            "Freedom of speech is a human right in law.",
        ),
    ),
    "cold": (
        (
            "The water in the lake is very cold.",
            "It was a cold day in January.",
            "Close the window because the room is cold.",
            "She drank a glass of cold milk.",
            "The winter in the north is cold and long.",
            "His hands were cold and wet.",
            "A cold wind blew from the mountains.",
            "The soup is already cold.",
        ),
        (
            "I caught a cold and stayed in bed.",
            "She has a bad cold and a sore throat.",
            "He took medicine against his cold.",
            "My cold lasted for two weeks.",
            "The doctor says it is only a cold.",
            "A cold is caused by a virus.",
            "He cannot sing because of his cold.",
            "The child gave her cold to everybody at school.",
        ),
    ),
    "letter": (
        (
            "I sent a letter to my mother yesterday.",
            "The letter arrived by post this morning.",
            "He wrote a long letter to the newspaper.",
            "She opened the envelope and read the letter.",
            "Please answer my letter of the third of June.",
            "The minister signed the letter to the president.",
            "We received a letter from the bank.",
            "The postman brought a letter for you.",
        ),
        (
            "The word begins with the letter b.",
            "Each letter of the alphabet has a sound.",
            "Write your name in capitals, one letter in each box.",
            "The last letter of this word is silent.",
            "A password must contain a letter and a digit.",
            "The letter z comes at the end of the alphabet.",
            "You forgot a letter when you spelled his name.",
            "Replace every letter by the next one.",
        ),
    ),
    "spring": (
        (
            "The trees are in flower in spring.",
            "It often rains here in spring.",
            "After a long winter spring came at last.",
            "The elections will be held next spring.",
            "Birds build their nests in spring.",
            "The meeting took place in the spring of last year.",
            "In spring the days become longer.",
            "Farmers sow their fields in spring.",
        ),
        (
            "The spring in this mattress is broken.",
            "A steel spring closes the valve.",
            "Pull the spring and fix it with a screw.",
            "The spring of the clock must be wound.",
            "The door is held shut by a spring.",
            "A weak spring does not push the lever back.",
            "The brake has a spring made of wire.",
            "The force of the spring moves the piston.",
        ),
    ),
    "table": (
        (
            "She put the plates on the table.",
            "The cat is sleeping under the table.",
            "We sat around a wooden table in the kitchen.",
            "He bought a table and four chairs.",
            "There is a vase on the table near the window.",
            "The children cleared the table after dinner.",
            "The table has one short leg.",
            "They ate at a table in the garden.",
        ),
        (
            "The table below shows the results by year.",
            "The second column of the table gives the price.",
            "See the table on page nine for all the figures.",
            "Each row of the table contains one record.",
            "The table lists the number of students by country.",
            "Insert a new table into the database.",
            "The values in the table are in percent.",
            "Sort the table by the first column.",
        ),
    ),
}
# Of each word, the French words that tell one sense, and those that tell the other.
TRANSLATED: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "bank": (frozenset({"banque"}), frozenset({"rive", "berge", "bord"})),
    "light": (frozenset({"lumière", "lampe"}), frozenset({"léger", "légère"})),
    "match": (frozenset({"match"}), frozenset({"allumette"})),
    "party": (frozenset({"parti"}), frozenset({"fête", "soirée"})),
    "right": (frozenset({"droite", "droit"}), frozenset({"raison"})),
    "cold": (frozenset({"froid", "froide"}), frozenset({"rhume"})),
    "spring": (frozenset({"printemps"}), frozenset({"source", "ressort"})),
    "fly": (frozenset({"mouche"}), frozenset({"voler", "vole", "volent"})),
    "free": (frozenset({"libre", "libres"}), frozenset({"gratuit", "gratuite", "gratuits"})),
    "present": (frozenset({"cadeau"}), frozenset({"présent", "présente"})),
}
Sensed = tuple[str, int, int]  # a text, the number of the word in it, and its sense: 0 or 1


def written() -> dict[str, list[Sensed]]:
    return {
        word: [(text, place(text, word), sense) for sense, texts in enumerate(both) for text in texts]
        for word, both in WRITTEN.items()
    }


def place(text: str, word: str) -> int:
    return [one.lower() for one in words(text)].index(word)


def translated(pairs: Sequence[tuple[str, str]], most: int, least: int) -> dict[str, list[Sensed]]:
    """Sentences with the word once, whose translation has words of one sense alone; as many of each sense."""
    by_sense: dict[str, tuple[list[Sensed], list[Sensed]]] = {word: ([], []) for word in TRANSLATED}
    for source, target in pairs:
        ours = [one.lower() for one in words(source)]
        for word in TRANSLATED.keys() & set(ours):
            theirs = {one.lower() for one in words(target)}
            senses = [bool(theirs & some) for some in TRANSLATED[word]]
            if ours.count(word) == 1 and sum(senses) == 1:
                by_sense[word][senses.index(True)].append((source, ours.index(word), senses.index(True)))
    even: dict[str, list[Sensed]] = {}
    for word, both in by_sense.items():
        if (count := min(most, *map(len, both))) >= least:
            even[word] = [one for some in both for one in some[:count]]
    return even
