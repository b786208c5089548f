import Base
import Testing

@Suite struct Base64URLTests {
    @Test(
        arguments: [
            ([], ""), ([0], "AA=="), ([255, 255], "__8="), ([251, 239, 190], "----"),
            ([1, 2, 3, 4], "AQIDBA=="),
        ] as [([UInt8], String)])
    func bytesBecomeTheTextOfTheOfficialFormatAndBack(bytes: [UInt8], text: String) {
        #expect(Base64URL.encode(bytes) == text)
        #expect(Base64URL.decode(text) == bytes)
    }

    @Test func missingPaddingIsAccepted() {
        #expect(Base64URL.decode("AQIDBA") == [1, 2, 3, 4])
    }

    @Test(arguments: ["+AAA", "A", "AB=", "AA=A", "A===", "AAB", "é"])
    func textOfAnotherAlphabetOrWithStrayBitsIsRefused(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test(arguments: [([], ""), ([255, 255], "//8="), ([251, 239, 190], "++++")] as [([UInt8], String)])
    func theCommonAlphabetHasOtherLetters(bytes: [UInt8], text: String) {
        #expect(Base64.encode(bytes) == text)
        #expect(Base64.decode(text) == bytes)
    }

    @Test(arguments: ["-AAA", "_AAA", "A", "AB=", "AA A", "AA==\n"])
    func otherAlphabetsAreRefused(text: String) { #expect(Base64.decode(text) == nil) }

    @Test func everyLengthSurvivesARoundTrip() {
        for length in 0...70 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 91 &+ length) }
            let text = Base64URL.encode(bytes)
            #expect(text.utf8.count == (length + 2) / 3 * 4)
            #expect(Base64URL.decode(text) == bytes)
            #expect(Base64URL.decode(text.replacing("=", with: "")) == bytes)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        }
    }

    @Test func onlyDigitsOfTheAlphabetAreRead() {
        var digits = 0
        for byte in UInt8.min...UInt8.max {
            // Its six bits belong to the first byte, and two of the second.
            guard let bytes = Base64URL.decode([byte, 65, 65, 65][...]) else { continue }
            digits += 1
            #expect(Base64URL.encode(bytes).utf8.first == byte)
        }
        #expect(digits == 64)
    }

    @Test func extraBitsMustBeZero() {
        // One byte has two digits with four extra bits, two bytes have three digits with two.
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        for (value, digit) in alphabet.enumerated() {
            #expect((Base64URL.decode("A\(digit)") != nil) == (value & 15 == 0))
            #expect((Base64URL.decode("AA\(digit)") != nil) == (value & 3 == 0))
        }
    }

    @Test func hexadecimalIsReadInEitherCase() {
        let all = Array(UInt8.min...UInt8.max)
        #expect(Hexadecimal.decode(Hexadecimal.encode(all)) == all)
        #expect(Hexadecimal.decode(Hexadecimal.encode(all).uppercased()) == all)
        #expect(Hexadecimal.encode([]) == "" && Hexadecimal.decode("") == [])
        for text in ["0g", "g0", "0 ", "-1", "+1", "0x", "abc"] { #expect(Hexadecimal.decode(text) == nil) }
    }
}
