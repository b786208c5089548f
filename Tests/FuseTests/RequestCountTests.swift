import Testing

@testable import Fuse

@Suite struct RequestCountTests {
    @Test func requestsAreCountedByOperationName() {
        let counts = RequestCounts()
        #expect(counts.named.isEmpty)
        // FUSE_LOOKUP, FUSE_OPEN, FUSE_READ, FUSE_READDIRPLUS, FUSE_TMPFILE, and unnamed ones.
        for operation: UInt32 in [1, 14, 15, 15, 44, 51, 7, 53, 4096, .max] { counts.note(operation) }
        #expect(
            counts.named == [
                "lookup": 1, "open": 1, "read": 2, "readdirplus": 1, "tmpfile": 1, "other": 4,
            ])
    }
}
