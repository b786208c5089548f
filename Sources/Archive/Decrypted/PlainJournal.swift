import Base
import Glibc
import Posix

/// Records the files of a folder of decrypted files that its manifest does not list yet, one JSON object a line. After
/// a kill, the next run reads them from here. All calls block; one thread.
final class PlainJournal {
    private let directory: OpenFile
    private var file: OpenFile?
    private var end: UInt64 = 0

    private static let name = ".entries"

    init(in directory: OpenFile) { self.directory = directory }

    /// Returns the recorded entries up to the first incomplete line.
    /// - Throws: `SystemError` if the file cannot be read.
    func entries() throws(SystemError) -> [PlainManifest.Entry] {
        let stored = try OpenFile.existing(Self.name, flags: O_RDONLY | O_NOFOLLOW, in: directory)
        guard let stored else { return [] }
        var entries: [PlainManifest.Entry] = []
        let lines = try stored.readAll(limit: PlainManifest.longest)
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for line in lines.dropLast() {
            guard let entry = JSONText.decoded(PlainManifest.Entry.self, from: Array(line)), entry.isOurs
            else { break }
            entries.append(entry)
        }
        return entries
    }

    /// Appends an entry. Call it before the file gets its name, so that no named file is without an entry.
    /// - Throws: `SystemError`, also for a full disk.
    func append(_ entry: PlainManifest.Entry) throws(SystemError) {
        if file == nil {
            file = try OpenFile(
                Self.name, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, in: directory)
            end = 0
        }
        let line = JSONText.encoded(entry) + [UInt8(ascii: "\n")]
        try file?.write(line, at: end)
        end += UInt64(line.count)
    }

    /// Deletes the journal. Call it when the manifest lists all entries.
    func clear() {
        file = nil
        unlinkat(directory.descriptor, Self.name, 0)
    }
}
