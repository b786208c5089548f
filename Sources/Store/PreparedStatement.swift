import CSQLite

/// One prepared statement and where its columns are. Belongs to one `Connection` and is used as that is, by one
/// thread at a time.
final class PreparedStatement {
    let handle: OpaquePointer

    /// Positions by the address of the literal that names the column: an open hash table. A literal never moves
    /// and never changes, so each place in the program looks a name up once for each statement, and a row costs
    /// one comparison for each value.
    private var positions: [(address: UInt, position: Int32)]
    private var filled = 0

    /// Takes over the statement.
    init(handle: OpaquePointer) {
        self.handle = handle
        positions = Array(repeating: (0, 0), count: 32)
    }

    deinit { sqlite3_finalize(handle) }

    /// Where a column of the result is. A name that the result does not have, or has twice, is a mistake in the
    /// program and ends it.
    func position(of column: StaticString) -> Int32 {
        let address = UInt(bitPattern: column.utf8Start)
        let slot = slot(of: address)
        if positions[slot].address == address { return positions[slot].position }
        let position = search(for: column)
        positions[slot] = (address, position)
        filled += 1
        if filled * 2 > positions.count { grow() }
        return position
    }

    /// The slot of an address, or the free one where it belongs. More than half of all are free.
    private func slot(of address: UInt) -> Int {
        let mask = positions.count - 1
        var slot = Int(truncatingIfNeeded: (address &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
        while positions[slot].address != address && positions[slot].address != 0 { slot = (slot + 1) & mask }
        return slot
    }

    private func grow() {
        let known = positions
        positions = Array(repeating: (0, 0), count: known.count * 2)
        for entry in known where entry.address != 0 { positions[slot(of: entry.address)] = entry }
    }

    private func search(for column: StaticString) -> Int32 {
        let wanted = String(describing: column)
        let found = (0..<sqlite3_column_count(handle)).filter { position in
            sqlite3_column_name(handle, position).map { String(cString: $0) == wanted } ?? false
        }
        precondition(found.count == 1, "the result of a query has \(found.count) columns named \(wanted)")
        return found[0]
    }
}
