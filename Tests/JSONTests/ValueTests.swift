import Testing

@testable import JSON

@Suite("JSON values")
struct ValueTests {
    private static func value(_ text: String) -> JSONValue? { JSONValue.parse(Array(text.utf8)) }

    @Test(
        "a value has exactly one kind",
        arguments: ["null", "true", "17", "\"17\"", "[17]", #"{"17":17}"#])
    func kinds(_ text: String) throws {
        let value = try #require(Self.value(text))
        #expect(value.isNull == (text == "null"))
        #expect(value.bool == (text == "true" ? true : nil))
        #expect(value.integer == (text == "17" ? 17 : nil))
        #expect(value.string == (text == "\"17\"" ? "17" : nil))
        #expect(value.elements.count == (text == "[17]" ? 1 : 0))
        #expect(value.isObject == text.hasPrefix("{"))
        #expect(value.members.count == (text.hasPrefix("{") ? 1 : 0))
        #expect((value["17"] != nil) == text.hasPrefix("{"))
    }

    @Test(
        "fractions and exponents give integers within doubles",
        arguments: [
            ("8999999999999999.0", Int64(8_999_999_999_999_999)), ("9000000000000000.0", nil),
            ("-8999999999999999.0", -8_999_999_999_999_999), ("-9000000000000000.0", nil),
            ("1e15", 1_000_000_000_000_000),
            ("1e16", nil), ("0.0", 0), ("-0", 0), ("-0.0", 0), ("1e-1", nil), ("10e-1", 1), ("1E+2", 100),
            ("1.5e1", 15),
            ("9223372036854775807.0", nil), ("1.", 1), ("1..0", nil), ("1e2e3", nil), ("007", 7),
        ])
    func integers(_ text: String, _ number: Int64?) { #expect(Self.value(text)?.integer == number) }

    @Test(
        "sizes are never negative",
        arguments: [
            ("5", UInt64(5)), ("0", 0), ("-1", 0), ("-9223372036854775808", 0), ("\"5\"", nil), ("1.5", nil),
        ])
    func sizes(_ text: String, _ size: UInt64?) { #expect(Self.value(text)?.size == size) }

    @Test("members are found behind nested values")
    func behind() throws {
        let value = try #require(
            Self.value(
                #"{"x":{"wanted":1,"y":[[{"wanted":2}],"wanted"]},"wanted2":3,"wante":4,"wanted":5,"z":6}"#))
        #expect(value["wanted"]?.integer == 5)
        #expect(value["z"]?.integer == 6)
        #expect(value["x"]?["wanted"]?.integer == 1)
        #expect(value["x"]?["y"]?.elements.last?.string == "wanted")
        #expect(value["y"] == nil)
        #expect(value.members.map(\.name) == ["x", "wanted2", "wante", "wanted", "z"])
    }

    @Test("the first of repeated names counts")
    func repeated() throws {
        let value = try #require(Self.value(#"{"a":null,"a":1,"b":2,"b":3}"#))
        #expect(value["a"] == nil)
        #expect(value["b"]?.integer == 2)
        #expect(value.members.map(\.name) == ["a", "a", "b", "b"])
        #expect(value.members.map(\.value.isNull) == [true, false, false, false])
    }

    @Test("escaped names are members but not fields")
    func escapedNames() throws {
        let value = try #require(Self.value(#"{"\u0061":1,"a\n":2}"#))
        #expect(value["a"] == nil)
        #expect(value.members.map(\.name) == ["a", "a\n"])
    }

    @Test(
        "type is a member or a bare string",
        arguments: [
            (#"{"type":"x","type":"y"}"#, "x"), (#""x""#, "x"), (#"{"type":7}"#, nil), (#"{"t":"x"}"#, nil),
            ("[]", nil),
        ])
    func types(_ text: String, _ type: String?) { #expect(Self.value(text)?.type == type) }

    @Test("invalid UTF-8 is accepted and replaced")
    func invalid() throws {
        let bytes =
            Array("[\"a".utf8) + [0xFF, 0xC3] + Array("b\",\"\\n".utf8) + [0xED, 0xA0, 0x80]
            + Array("\"]".utf8)
        let strings = try #require(JSONValue.parse(bytes)).elements.compactMap(\.string)
        #expect(strings.first?.hasPrefix("a\u{FFFD}") == true && strings.first?.hasSuffix("b") == true)
        #expect(strings.last?.hasPrefix("\n\u{FFFD}") == true)
    }

    // MARK: - Limits

    @Test("nesting is limited to 64 levels", arguments: [63, 64, 65])
    func depth(count: Int) {
        let arrays = String(repeating: "[", count: count) + String(repeating: "]", count: count)
        let objects = String(repeating: #"{"a":"#, count: count) + "1" + String(repeating: "}", count: count)
        let mixed =
            String(repeating: #"[{"a":"#, count: count / 2) + "[]" + String(repeating: "}]", count: count / 2)
        #expect((Self.value(arrays) != nil) == (count <= 64))
        #expect((Self.value(objects) != nil) == (count <= 64))
        #expect((Self.value(mixed) != nil) == (count / 2 * 2 + 1 <= 64))
    }

    @Test("only open levels count as nesting")
    func width() throws {
        let pair = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        let value = try #require(
            Self.value("[" + Array(repeating: pair, count: 200).joined(separator: ",") + "]"))
        #expect(value.elements.count == 200)
    }

    @Test("too long texts are rejected")
    func length() {
        #expect(JSONDocument([UInt8](repeating: UInt8(ascii: " "), count: JSONDocument.maxLength + 1)) == nil)
    }
}
