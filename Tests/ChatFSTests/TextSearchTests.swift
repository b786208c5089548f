import CommandLineKit
import Testing

@testable import chatfs

/// Messages by their words.
@Suite struct TextSearchTests {
    private func message(
        _ text: String?, event: String = "message", sender: String? = nil, file: String? = nil
    )
        -> LoggedMessage
    {
        LoggedMessage(
            event: event, time: nil, direction: nil, sender: sender, text: text,
            file: file.map { LoggedMessage.File(name: $0, size: nil) }, state: nil, error: nil)
    }

    @Test func messageMustContainAllWords() throws {
        let search = try TextSearch(" Train TICKETS ", from: nil)
        #expect(search.fits(message("your tickets for the night train")))
        #expect(search.fits(message("tickets", file: "Train.pdf")))
        #expect(!search.fits(message("your tickets")) && !search.fits(message(nil)))
        #expect(!search.fits(message("train tickets", event: "deletion")))
    }

    @Test func searchIgnoresCaseInAnyScript() throws {
        #expect(try TextSearch("ÄRGER", from: nil).fits(message("großer ärger")))
    }

    @Test func senderMatchesExactly() throws {
        let search = try TextSearch("hi", from: "Bob")
        #expect(search.fits(message("hi", sender: "Bob")) && !search.fits(message("hi", sender: "Bobby")))
        #expect(!search.fits(message("hi")))
    }

    @Test func emptySearchIsUsageError() {
        #expect(throws: UsageError.self) { try TextSearch("  ", from: nil) }
    }
}
