import Testing

@testable import JSON

@Suite("Writing JSON")
struct WritingTests {
    @Test("line ends and control characters are escaped")
    func escapes() {
        let named: [Unicode.Scalar: String] = [
            "\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t",
        ]
        for value in UInt32(0)...0x300 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let isControl = value < 0x20 || (0x7F..<0xA0).contains(value)
            let digits = String(value, radix: 16)
            let code = "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            let expected = named[scalar] ?? (isControl ? code : String(scalar))
            #expect(Array(JSONText.string(String(scalar)).utf8) == Array("\"\(expected)\"".utf8))
        }
        #expect(JSONText.string("\u{2028}\u{2029}\u{2027}\u{202A}") == "\"\\u2028\\u2029\u{2027}\u{202A}\"")
        #expect(JSONText.string("") == "\"\"")
        #expect(JSONText.string("\r\n") == #""\r\n""#)
    }

    @Test("members keep their order and omit nil")
    func objects() {
        #expect(JSONText.object([:]) == "{}")
        #expect(JSONText.object(["b": "1", "a": "[]", "b": "null"]) == #"{"b":1,"a":[],"b":null}"#)
        #expect(JSONText.object(["a\"": JSONText.string("\\")]) == #"{"a\"":"\\"}"#)
        #expect(JSONText.object(present: ["a": nil, "b": "1", "c": nil, "d": "2"]) == #"{"b":1,"d":2}"#)
        #expect(JSONText.object(present: ["a": nil]) == "{}")
    }

    @Test("arrays have no trailing comma")
    func arrays() {
        #expect(JSONText.array([]) == "[]")
        #expect(JSONText.array(["1"]) == "[1]")
        #expect(JSONText.array(["1", "{}", "\"a\""]) == #"[1,{},"a"]"#)
    }
}
