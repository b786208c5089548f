import Base
import TestSupport
import Testing

/// Percent-encoding in links and URIs.
@Suite struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("a-z_.~", "a-z_.~"), ("a b", "a%20b"), ("ü", "%C3%BC"), ("\u{0}\u{7f}", "%00%7F"),
        ("+/=&?#%", "%2B%2F%3D%26%3F%23%25"), ("\u{1F600}", "%F0%9F%98%80"),
    ])
    func everythingButPlainLettersIsEscaped(text: String, encoded: String) {
        #expect(PercentEncoding.encode(text) == encoded && PercentEncoding.decode(encoded) == text)
        #expect(PercentEncoding.decode(encoded.lowercased()) == text, "in whichever case the digits are")
    }

    @Test(arguments: ["%", "%4", "%zz", "a%", "a%2", "%ff", "%C3", "%C3%28", "%+1", "% 1", "%%41"])
    func malformedEscapesAreRefused(text: String) {
        #expect(PercentEncoding.decode(text) == nil)
    }

    @Test func everyTextSurvivesARoundTrip() {
        var random = SeededGenerator(state: 5)
        for _ in 0..<300 {
            let scalars = (0..<Int.random(in: 0...12, using: &random)).compactMap { _ in
                UnicodeScalar(UInt32.random(in: 0...0x1_0fff, using: &random))
            }
            let text = String(String.UnicodeScalarView(scalars))
            #expect(PercentEncoding.decode(PercentEncoding.encode(text)) == text)
        }
    }

    @Test func aPlusIsASpaceOnlyOnRequest() {
        #expect(PercentEncoding.decode("a+b%2B") == "a+b+")
        #expect(PercentEncoding.decode("a+b%2B", plusIsSpace: true) == "a b+")
    }

    @Test func unencodedCharactersCanBeChosen() {
        let slashes = PercentEncoding.Unescaped("/a")
        #expect(PercentEncoding.encode([0x2F, 0x61, 0x62, 0xFF], except: slashes) == "/a%62%FF")
    }
}
