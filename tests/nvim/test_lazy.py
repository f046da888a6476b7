"""Modules that a file names at its head, and that are loaded at their first use."""

import pytest

pytestmark = pytest.mark.one_nvim

MADE = """
local lazy = Ide.lazy
local function make(what)
  package.loaded.made = nil
  package.preload.made = function() return what end
end
"""


def test_a_module_is_loaded_when_a_field_is_read(nvim):
    lua = "make({ field = 1 }) local made = lazy('made') return { package.loaded.made == nil, made.field }"
    assert nvim.lua(MADE + lua) == [True, 1]


def test_a_field_that_is_written_is_the_modules(nvim):
    assert nvim.lua(MADE + "make({}) lazy('made').field = 2 return require('made').field") == 2


def test_a_module_that_is_a_function_can_be_called(nvim):
    assert nvim.lua(MADE + "make(function(...) return select('#', ...) end) return lazy('made')(1, nil)") == 2


def test_each_use_sees_the_module_of_that_time(nvim):
    lua = """
    make({ field = 1 })
    local made = lazy("made")
    local before = made.field
    package.loaded.made = { field = 2 }
    return { before, made.field }
    """
    assert nvim.lua(MADE + lua) == [1, 2]


def test_a_module_that_fails_to_load_is_reported_each_time_as_by_require(nvim):
    lua = """
    package.loaded.made, package.preload.made = nil, function() error("It breaks.", 0) end
    local made, said = lazy("made"), {}
    for i = 1, 2 do
      said[i] = select(2, pcall(function() return made.field end))
    end
    return said
    """
    first, second = nvim.lua(MADE + lua)
    assert first == "It breaks."
    assert "previous error loading module 'made'" in second
