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

    @Test func missingPaddingIsAcceptedAsTheOfficialParsersDo() {
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
    func whatIsNotOfTheCommonAlphabetIsRefused(text: String) { #expect(Base64.decode(text) == nil) }
}
