import Base

/// The used part of libarchive, loaded at run time. Only export, import and `--folders archive` need it, so the daemon,
/// which handles strangers' bytes, does not load it otherwise. Its C interface has been stable since version 3.0
/// (archive(3), archive_read(3), archive_write(3), archive_entry(3)).
///
/// Thread-safe; each archive and entry is used by one thread at a time.
struct ArchiveLibrary: Sendable {
    typealias Archive = OpaquePointer
    typealias Entry = OpaquePointer
    typealias Text = UnsafePointer<CChar>

    typealias Making = @convention(c) () -> Archive?
    typealias Calling = @convention(c) (Archive) -> Int32
    typealias WritingBytes = @convention(c) (Archive, UnsafeRawPointer, Int) -> Int
    typealias Taking = @convention(c) (Archive, UnsafeMutableRawPointer?, UnsafeRawPointer?, Int) -> Int
    typealias Noting = @convention(c) (Archive, UnsafeMutableRawPointer?) -> Int32
    typealias ReadingBytes = @convention(c) (Archive, UnsafeMutableRawPointer, Int) -> Int

    /// ARCHIVE_EOF, and ARCHIVE_WARN: results below it are failures.
    static let end: Int32 = 1
    static let warning: Int32 = -20
    /// AE_IFREG.
    static let regularFile: UInt32 = 0o100000

    let newWriter: Making
    let setZip: Calling
    let setStore: Calling
    let openToWrite: @convention(c) (Archive, Int32) -> Int32
    /// Takes the callbacks' context and callbacks, some of them nil.
    let openToWriteBy: @convention(c) (Archive, UnsafeMutableRawPointer?, Noting?, Taking, Noting?) -> Int32
    let setOptions: @convention(c) (Archive, Text) -> Int32
    let setBlockLength: @convention(c) (Archive, Int32) -> Int32
    let setLastBlockLength: @convention(c) (Archive, Int32) -> Int32
    let writeHeader: @convention(c) (Archive, Entry) -> Int32
    let writeData: WritingBytes
    let closeWriter: Calling
    let freeWriter: Calling

    let newReader: Making
    let supportZip: Calling
    let openToRead: @convention(c) (Archive, Int32, Int) -> Int32
    let nextHeader: @convention(c) (Archive, UnsafeMutablePointer<Entry?>) -> Int32
    let readData: ReadingBytes
    let freeReader: Calling

    let newEntry: @convention(c) () -> Entry?
    let freeEntry: @convention(c) (Entry) -> Void
    let setName: @convention(c) (Entry, Text) -> Void
    let setSize: @convention(c) (Entry, Int64) -> Void
    let setType: @convention(c) (Entry, UInt32) -> Void
    let setPermissions: @convention(c) (Entry, UInt32) -> Void
    let setModified: @convention(c) (Entry, Int, Int) -> Void
    let nameOf: @convention(c) (Entry) -> Text?
    let typeOf: @convention(c) (Entry) -> UInt32
    let isEncrypted: @convention(c) (Entry) -> Int32
    let errnoOf: Calling

    /// The library, or nil if it is not installed. Loaded once.
    static let shared = ArchiveLibrary()

    private init?() {
        guard let library = SharedLibrary("libarchive.so.13") else { return nil }
        do {
            newWriter = try library.function("archive_write_new")
            setZip = try library.function("archive_write_set_format_zip")
            setStore = try library.function("archive_write_zip_set_compression_store")
            openToWrite = try library.function("archive_write_open_fd")
            openToWriteBy = try library.function("archive_write_open")
            setOptions = try library.function("archive_write_set_options")
            setBlockLength = try library.function("archive_write_set_bytes_per_block")
            setLastBlockLength = try library.function("archive_write_set_bytes_in_last_block")
            writeHeader = try library.function("archive_write_header")
            writeData = try library.function("archive_write_data")
            closeWriter = try library.function("archive_write_close")
            freeWriter = try library.function("archive_write_free")
            newReader = try library.function("archive_read_new")
            supportZip = try library.function("archive_read_support_format_zip_seekable")
            openToRead = try library.function("archive_read_open_fd")
            nextHeader = try library.function("archive_read_next_header")
            readData = try library.function("archive_read_data")
            freeReader = try library.function("archive_read_free")
            newEntry = try library.function("archive_entry_new")
            freeEntry = try library.function("archive_entry_free")
            setName = try library.function("archive_entry_set_pathname")
            setSize = try library.function("archive_entry_set_size")
            setType = try library.function("archive_entry_set_filetype")
            setPermissions = try library.function("archive_entry_set_perm")
            setModified = try library.function("archive_entry_set_mtime")
            nameOf = try library.function("archive_entry_pathname")
            typeOf = try library.function("archive_entry_filetype")
            isEncrypted = try library.function("archive_entry_is_encrypted")
            errnoOf = try library.function("archive_errno")
        } catch {
            return nil
        }
    }
}
