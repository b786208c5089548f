import CSQLite

/// A file of this VFS, which SQLite uses in one thread at a time. Methods return SQLite result codes.
protocol VirtualFile: AnyObject {
    /// The file with the locks and the shared memory, or nil for a file in memory.
    var beneath: UnderlyingFile? { get }

    /// Bytes beyond the end read as zeros.
    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int32
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32
    func truncate(to length: Int64) -> Int32
    func size(_ size: inout Int64) -> Int32
    func synchronise(_ flags: Int32) -> Int32
    func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32
    /// Called before the underlying file is closed.
    func close()
}

/// The memory that SQLite provides for an open file: its functions, a reference to the `VirtualFile`, and the
/// underlying file of the unix VFS.
struct FileMemory {
    // Safe: SQLite provides `size` bytes, keeps them while the file is open, and uses a file in one thread at a time.
    private let memory: UnsafeMutableRawPointer

    private static let referenceOffset = 8
    private static let beneathOffset = 16

    static func size(ofBeneath size: Int32) -> Int32 { Int32(beneathOffset) + size }

    init(_ file: UnsafeMutablePointer<sqlite3_file>) { memory = UnsafeMutableRawPointer(file) }

    private final class Reference {
        let file: any VirtualFile
        init(_ file: any VirtualFile) { self.file = file }
    }

    var beneath: UnsafeMutablePointer<sqlite3_file> {
        (memory + Self.beneathOffset).assumingMemoryBound(to: sqlite3_file.self)
    }

    /// SQLite calls `methods` and closes the file from now on.
    func open(_ file: any VirtualFile, methods: UnsafePointer<sqlite3_io_methods>) {
        let reference = Unmanaged.passRetained(Reference(file)).toOpaque()
        memory.storeBytes(of: reference, toByteOffset: Self.referenceOffset, as: UnsafeMutableRawPointer.self)
        memory.assumingMemoryBound(to: sqlite3_file.self).pointee.pMethods = methods
    }

    /// SQLite will not close the file.
    func refuse() { memory.assumingMemoryBound(to: sqlite3_file.self).pointee.pMethods = nil }

    private var reference: Unmanaged<Reference> {
        .fromOpaque(memory.load(fromByteOffset: Self.referenceOffset, as: UnsafeRawPointer.self))
    }

    var file: any VirtualFile { reference._withUnsafeGuaranteedRef { $0.file } }

    func close() -> Int32 {
        let file = self.file
        file.close()
        let result = file.beneath.map { $0.methods.xClose($0.pointer) } ?? SQLITE_OK
        reference.release()
        refuse()
        return result
    }
}
