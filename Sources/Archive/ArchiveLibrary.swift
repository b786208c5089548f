import Glibc

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
    let finishEntry: Calling
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
        guard let library = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL) else { return nil }
        var isWhole = true
        // A pointer for a missing symbol is never called, because `init` returns nil.
        func symbol<Function>(_ name: String, _ type: Function.Type = Function.self) -> Function {
            let found = dlsym(library, "archive_" + name)
            isWhole = isWhole && found != nil
            return unsafeBitCast(found ?? library, to: Function.self)
        }
        newWriter = symbol("write_new")
        setZip = symbol("write_set_format_zip")
        setStore = symbol("write_zip_set_compression_store")
        openToWrite = symbol("write_open_fd")
        openToWriteBy = symbol("write_open")
        setOptions = symbol("write_set_options")
        setBlockLength = symbol("write_set_bytes_per_block")
        setLastBlockLength = symbol("write_set_bytes_in_last_block")
        writeHeader = symbol("write_header")
        writeData = symbol("write_data")
        finishEntry = symbol("write_finish_entry")
        closeWriter = symbol("write_close")
        freeWriter = symbol("write_free")
        newReader = symbol("read_new")
        supportZip = symbol("read_support_format_zip_seekable")
        openToRead = symbol("read_open_fd")
        nextHeader = symbol("read_next_header")
        readData = symbol("read_data")
        freeReader = symbol("read_free")
        newEntry = symbol("entry_new")
        freeEntry = symbol("entry_free")
        setName = symbol("entry_set_pathname")
        setSize = symbol("entry_set_size")
        setType = symbol("entry_set_filetype")
        setPermissions = symbol("entry_set_perm")
        setModified = symbol("entry_set_mtime")
        nameOf = symbol("entry_pathname")
        typeOf = symbol("entry_filetype")
        isEncrypted = symbol("entry_is_encrypted")
        errnoOf = symbol("errno")
        guard isWhole else { return nil }
    }
}
