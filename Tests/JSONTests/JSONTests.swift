import TestSupport
import Testing

@testable import JSON

@Suite("Received JSON")
struct JSONTests {
    static func value(_ text: String) -> JSONValue? { JSONValue.parse(Array(text.utf8)) }

    @Test(
        "integers keep all digits",
        arguments: [
            ("0", Int64(0)), ("-1", -1), ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("1.0", 1), ("1e3", 1000), ("-2.50e1", -25),
        ])
    func integers(_ text: String, _ number: Int64) { #expect(Self.value(text)?.integer == number) }

    @Test(
        "other numbers are not integers",
        arguments: ["1.5", "9223372036854775808", "1e400", "--1", "1-1", "1e", "-"])
    func noIntegers(_ text: String) { #expect(Self.value(text)?.integer == nil) }

    @Test(
        "escapes and surrogates are decoded",
        arguments: [
            (#""a\"b\\c\/d\n\t""#, "a\"b\\c/d\n\t"), (#""\u00e9\u0041""#, "éA"), (#""\ud83d\ude00""#, "😀"),
            (#""\ud83d""#, "\u{FFFD}"), (#""\ude00x""#, "\u{FFFD}x"), (#""\ud83d\u0041""#, "\u{FFFD}A"),
            (#""\u12""#, "\u{FFFD}12"), ("\"grün 😀\"", "grün 😀"), (#""""#, ""),
        ])
    func strings(_ json: String, _ text: String) { #expect(Self.value(json)?.string == text) }

    @Test(
        "invalid JSON is rejected",
        arguments: [
            "", " ", "{", "}", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "[1 2]", "tru", "nulll", "\"",
            "\"\\\"",
            "\"a\nb\"", "1 1", "{\"a\":1,}", "+1", ".5", "'a'",
        ])
    func refused(_ text: String) { #expect(Self.value(text) == nil) }

    @Test("members are found by name, the first of two")
    func members() throws {
        let json = try #require(Self.value(#" { "a" : [1, {"b": 2}] , "n":null,"a":3, "c":{"a":"x"} } "#))
        #expect(json["a"]?.elements.count == 2)
        #expect(json["a"]?.elements.last?["b"]?.integer == 2)
        #expect(json["n"] == nil && json["z"] == nil)
        #expect(json["c"]?["a"]?.string == "x")
        #expect(json["c"]?["a"]?["deeper"] == nil)
    }

    @Test("written JSON round-trips without line breaks")
    func writing() {
        var random = SeededGenerator(state: 3)
        for _ in 0..<300 {
            var text = ""
            for _ in 0..<Int.random(in: 0..<30, using: &random) {
                let limit: UInt32 = Bool.random(using: &random) ? 0x100 : 0x2_0000
                if let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &random)) {
                    text.unicodeScalars.append(scalar)
                }
            }
            let json = JSONText.string(text)
            #expect(json.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
            #expect(Self.value(json)?.string == text)
        }
    }
}
