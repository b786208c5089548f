import Base
import ChatCore
import Testing

@testable import OfficialCore

@Suite("Commands are made of checked values only")
struct CommandTests {
    @Test("a path with a line break never reaches the core")
    func lineBreak() {
        for path in ["/tmp/a\nb", "/tmp/a\u{0}b", "/tmp/a\r", "relative", "", "/tmp/a "] {
            #expect(throws: OfficialCoreError.self) { try APICommand.filesFolder(path).text() }
            #expect(throws: OfficialCoreError.self) { try APICommand.upload(user: 1, path: path).text() }
        }
    }
}
