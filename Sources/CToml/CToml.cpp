#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
// Nesting is recursion, here and in toml++.
#define TOML_MAX_NESTED_VALUES 64
#include <toml++/toml.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "CToml.h"

namespace {

using Visit = void (*)(void *, const ctoml_event *);

struct Walk {
    void *context;
    Visit visit;

    void emit(uint32_t depth, const toml::node &node, int kind, std::string_view key, std::string_view text) const {
        ctoml_event event{depth, node.source().begin.line, kind, key.data(), key.size(), text.data(), text.size()};
        visit(context, &event);
    }

    void value(uint32_t depth, std::string_view key, const toml::node &node) const {
        if (const auto *table = node.as_table()) {
            emit(depth, node, CTOML_TABLE, key, {});
            entries(depth + 1, *table);
        } else if (const auto *array = node.as_array()) {
            emit(depth, node, CTOML_ARRAY, key, {});
            for (const auto &element : *array) value(depth + 1, {}, element);
        } else if (const auto *string = node.as_string()) {
            emit(depth, node, CTOML_STRING, key, string->get());
        } else if (const auto *integer = node.as_integer()) {
            emit(depth, node, CTOML_INTEGER, key, std::to_string(integer->get()));
        } else if (const auto *boolean = node.as_boolean()) {
            emit(depth, node, CTOML_BOOLEAN, key, boolean->get() ? "true" : "false");
        } else {
            emit(depth, node, CTOML_OTHER, key, {});
        }
    }

    // In the order of their lines: toml++ sorts keys by name.
    void entries(uint32_t depth, const toml::table &table) const {
        std::vector<std::pair<std::string_view, const toml::node *>> ordered;
        for (const auto &[key, node] : table) ordered.emplace_back(key.str(), &node);
        std::stable_sort(ordered.begin(), ordered.end(), [](const auto &left, const auto &right) {
            return left.second->source().begin.line < right.second->source().begin.line;
        });
        for (const auto &[key, node] : ordered) value(depth, key, *node);
    }
};

}  // namespace

extern "C" int ctoml_parse(
    const char *text, size_t length, void *context, Visit visit, ctoml_failure *failure) {
    const toml::parse_result result = toml::parse(std::string_view(text, length));
    if (result) {
        Walk{context, visit}.entries(0, result.table());
        return 0;
    }
    const toml::parse_error &error = result.error();
    failure->line = error.source().begin.line;
    std::snprintf(
        failure->message, sizeof failure->message, "%.*s", static_cast<int>(error.description().size()),
        error.description().data());
    return -1;
}
