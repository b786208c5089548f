import CSQLite

/// One prepared statement and where its columns are. Belongs to one `Connection` and is used as that is, by one
/// thread at a time.
final class PreparedStatement {
    let handle: OpaquePointer

    /// Where a literal's column is. A free slot has the address 0.
    private struct Slot {
        var address: UInt = 0
        var position: Int32 = 0
    }

    /// Positions by the address of the literal that names the column: an open hash table. A literal never moves
    /// and never changes, so each place in the program looks a name up once for each statement, and a row costs
    /// one comparison for each value.
    // Safe: made and freed here, and never given out; `mask` is one less than the number of slots. A pointer rather
    // than an array, whose checks would cost more than the look-up.
    private var slots: UnsafeMutablePointer<Slot>
    private var mask: UInt
    private var filled: UInt = 0

    /// Takes over the statement.
    init(handle: OpaquePointer) {
        self.handle = handle
        mask = 31
        slots = .allocate(capacity: 32)
        slots.initialize(repeating: Slot(), count: 32)
    }

    deinit {
        slots.deallocate()
        sqlite3_finalize(handle)
    }

    /// Where a column of the result is. A name that the result does not have, or has twice, is a mistake in the
    /// program and ends it.
    @inline(__always)
    func position(of column: StaticString) -> Int32 {
        let address = UInt(bitPattern: column.utf8Start)
        let slot = slots[Int(bitPattern: Self.hash(address) & mask)]
        return slot.address == address ? slot.position : positionBehind(column, address)
    }

    @inline(__always)
    private static func hash(_ address: UInt) -> UInt { (address &* 0x9E37_79B9_7F4A_7C15) >> 40 }

    /// The slot of an address, or the free one where it belongs. More than half of all are free.
    private func index(of address: UInt) -> Int {
        var index = Self.hash(address) & mask
        while slots[Int(index)].address != address && slots[Int(index)].address != 0 {
            index = (index + 1) & mask
        }
        return Int(index)
    }

    @inline(never)
    private func positionBehind(_ column: StaticString, _ address: UInt) -> Int32 {
        let index = index(of: address)
        if slots[index].address == address { return slots[index].position }
        let position = search(for: column)
        slots[index] = Slot(address: address, position: position)
        filled += 1
        if filled * 2 > mask { grow() }
        return position
    }

    private func grow() {
        let (known, count) = (slots, Int(mask) + 1)
        slots = .allocate(capacity: count * 2)
        slots.initialize(repeating: Slot(), count: count * 2)
        mask = mask * 2 + 1
        for slot in UnsafeBufferPointer(start: known, count: count) where slot.address != 0 {
            slots[index(of: slot.address)] = slot
        }
        known.deallocate()
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
