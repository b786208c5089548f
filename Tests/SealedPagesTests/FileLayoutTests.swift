import Cryptography
import Testing

@testable import SealedPages

@Suite struct FileLayoutTests {
    @Test(arguments: [FileLayout.database, .log])
    func recordsHaveNoGapsInEitherView(_ layout: FileLayout) {
        var (offset, position) = (Int64(0), layout.record(at: 0).position)
        for _ in 0..<50 {
            let record = layout.record(at: offset)
            #expect(record.offset == offset && record.position == position)
            #expect(layout.record(at: record.end - 1).position == position)
            (offset, position) = (record.end, position + Int64(record.sealedLength))
            #expect(layout.length(ofSize: position) == offset || record.kind == .frameHeader)
            #expect(layout.size(ofLength: offset) == position)
        }
    }

    @Test(arguments: [FileLayout.database, .log])
    func lengthGrowsWithTheFile(_ layout: FileLayout) {
        var last: Int64 = 0
        for size in 0..<Int64(20_000) {
            let length = layout.length(ofSize: size)
            #expect(length >= last && length <= size)
            last = length
        }
    }

    @Test func terabyteFilesHavePositions() {
        let page = FileLayout.database.record(at: 4096 * 4_000_000_000)
        #expect(page.number == 4_000_000_001 && page.position == 4096 * 4_000_000_001)
        #expect(FileLayout.log.record(at: 32 + 4120 * 4_000_000_000 + 24).number == 4_000_000_001)
    }

    @Test func headerRoundTripsAndDetectsChangedBits() throws {
        let key = SecretBytes(randomCount: 32)
        let header = DatabaseHeader.random()
        let bytes = header.encoded(provenBy: key)
        #expect(bytes.count == FileLayout.pageSize)
        #expect(try DatabaseHeader.parse(bytes, size: 8192, dataKey: key) == header)
        for bit in 0..<DatabaseHeader.provenLength * 8 {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            let error = #expect(throws: SealedPagesError.self) {
                try DatabaseHeader.parse(damaged, size: 8192, dataKey: key)
            }
            #expect(error?.code == (bit / 8 < 16 ? .notADatabase : .damaged))
        }
    }

    @Test func checkpointRecordRoundTrips() {
        let log = withUnsafeBytes(of: (UInt64(1), UInt64(2), UInt64(3))) { LogIdentity($0.baseAddress!) }
        for isFinished in [true, false] {
            let record = CheckpointRecord(log: log, frames: 77, isFinished: isFinished)
            var bytes = [UInt8](repeating: 9, count: CheckpointRecord.contentLength)
            record.store(to: &bytes)
            #expect(CheckpointRecord(bytes) == record)
            #expect(record.allows(log, after: .none, frames: 77))
            #expect(!record.allows(log, after: .none, frames: 76))
            #expect(record.allows(.none, after: log, frames: 0) == isFinished)
            #expect(!record.allows(.none, after: .none, frames: 100))
        }
        #expect(CheckpointRecord([UInt8](repeating: 0, count: 32)) == nil)
    }
}
