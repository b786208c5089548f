import CSQLite
import Glibc

/// One prepared statement and the names of its columns. Belongs to one `Connection` and is used like it, by one thread
/// at a time.
final class PreparedStatement {
    private struct Name {
        var text: UnsafeMutablePointer<CChar>
        /// In bytes.
        var length: Int
    }

    let handle: OpaquePointer

    /// The names of the columns, copied because SQLite replaces its own after a change of the schema. A name that
    /// occurs twice is empty here.
    // Safe: allocated and freed here; never given out.
    private let names: [Name]
    /// The column after the last one found. Rows are mostly read in the order of their columns.
    private var next = 0

    /// Takes over the statement.
    init(handle: OpaquePointer) {
        self.handle = handle
        let found = (0..<sqlite3_column_count(handle)).map { position in
            sqlite3_column_name(handle, position).map { String(cString: $0) } ?? ""
        }
        names = found.map { name in
            guard let text = strdup(found.count { $0 == name } == 1 ? name : "") else {
                fatalError("no memory for the names of columns")
            }
            return Name(text: text, length: strlen(text))
        }
    }

    deinit {
        for name in names { free(name.text) }
        sqlite3_finalize(handle)
    }

    /// Returns the position of a column in the result. A name that the result lacks or has twice is a fatal error.
    func position(of column: StaticString) -> Int32 {
        var place = next
        for _ in names.indices {
            if place >= names.count { place = 0 }
            let name = names[place]
            if name.length == column.utf8CodeUnitCount, memcmp(name.text, column.utf8Start, name.length) == 0
            {
                next = place + 1
                return Int32(place)
            }
            place += 1
        }
        fatalError("no single column of a query's result is named \(column)")
    }
}
