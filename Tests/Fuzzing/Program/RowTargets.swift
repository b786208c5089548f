import ChatCore
import Store

@testable import Namespace
@testable import Outbox

extension Target {
    /// Rows written by another version, a failing disk or a person with an editor.
    static let rows = [journalRow, nameRow, officialRow, embeddedRow]

    private static let journalRow = Target("journal-row", "rows of the outbox's journal", longest: 512) {
        bytes in
        journal.with(bytes, in: drafts) { journal in
            guard let entry = try? journal.entries().first else { return }
            // Rows that violate constraints need not survive a round trip.
            guard (try? journal.apply([entry])) != nil, let again = try? journal.entries().first else {
                return
            }
            hold(
                again.state == entry.state && again.record == entry.record,
                "a written row is the same")
        }
    }

    private static let journal = JournalFixture()
    private static let drafts = FuzzedTable(
        "draft",
        [
            "chat", "name", "spool", "key", "message", "state", "size", "modified", "caption", "broken",
            "confirmed", "durable", "boot", "touched", "staged_folder", "staged_name", "staged_key",
            "staged_nonce", "staged_kind", "staged_offset", "item", "problem",
        ])

    private static let nameRow = Target("name-row", "rows of the index of names", longest: 768) { bytes in
        var input = Input(bytes)
        let wanted = EntryName(input.some())
        index.with(input.rest(), in: nodes) { connection in
            let index = NameIndex(connection)
            _ = (try? index.chats(), try index.drafts(), try index.items(in: NodeID(1)))
            guard !wanted.bytes.isEmpty, wanted.bytes.count <= EntryName.maxLength else { return }
            let name = try index.freeName(wanted, in: NodeID(1))
            hold(name.bytes.count <= EntryName.maxLength, "a name is not too long")
            hold(try !index.isTaken(name, in: NodeID(1)), "a free name is free")
            try index.retire(name, in: NodeID(1))
            hold(try index.freeName(wanted, in: NodeID(1)) != name, "no name is given twice")
        }
    }

    private static let index = IndexFixture("names", NameIndex.migrations)
    private static let nodes = FuzzedTable("node", ["folder", "name", "chat", "item", "draft", "modified"])
}
