import RemoteControl
import Testing

@testable import chatfs

@Suite struct PhoneScreenTests {
    @Test func codeFitsTerminal() {
        let code = SessionCode(channelBinding: [UInt8](repeating: 0xA7, count: 32))
        let lines = PhoneScreen.words(of: code, from: "work")
        #expect(lines.contains("  " + code.shown))
        #expect(lines.count < 24 && lines.prefix(15).allSatisfy { $0.count <= 80 })
    }

    @Test func wrongCodeNamesCommandThatForgets() {
        let code = SessionCode(channelBinding: [UInt8](repeating: 0xA7, count: 32))
        let lines = PhoneScreen.words(of: code, from: "work")
        #expect(lines.joined(separator: "\n").contains("chatfs phone forget work"))
    }

    @Test(arguments: [true, false])
    func largeDigitsAreFiveEqualLines(drawsBlocks: Bool) {
        let lines = LargeDigits.lines("01234 56789", drawsBlocks: drawsBlocks)
        #expect(lines.count == 5 && Set(lines.map(\.count)).count == 1)
        #expect(lines.allSatisfy { $0.count <= 80 })
        #expect(lines.joined().contains(drawsBlocks ? "█" : "#"))
    }
}
