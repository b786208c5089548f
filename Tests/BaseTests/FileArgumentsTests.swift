import Base
import Testing

@Suite struct FileArgumentsTests {
    @Test func keysNeverShowInPrintedValues() {
        let arguments = FileArguments(
            key: [UInt8](repeating: 171, count: 32), nonce: [UInt8](repeating: 205, count: 24))
        var dumped = ""
        dump(arguments, to: &dumped)
        for text in ["\(arguments)", String(reflecting: arguments), "\([arguments])", dumped] {
            #expect(!text.contains("171") && !text.contains("205"))
        }
    }
}
