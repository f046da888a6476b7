"""A shelf of books, kept in a JSON file."""

import json
from pathlib import Path

FILE = Path("shelf.json")


def load():
    if not FILE.exists():
        return []
    return json.loads(FILE.read_text())


def save(books):
    FILE.write_text(json.dumps(books))


def add(title, author):
    books = load()
    books.append({"title": title, "author": author})
    save(books)


def find(word):
    found = []
    for book in load():
        if word in book["title"]:
            found.append(book)
    return found


def show(books):
    for book in books:
        print(book["title"] + ", " + book["author"])
