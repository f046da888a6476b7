"""Says hello."""


def greet(name):
    print("hello " + name)


if __name__ == "__main__":
    greet("world")
