/// Sorts secrets: which places are compared depends on the count alone, and an exchange is arithmetic, never a branch.
/// Batcher's odd-even merge exchange network, as the reference implementation of sntrup761 has it.
enum ObliviousSort {
    /// Sorts in rising order. About n·log²n/4 exchanges.
    static func sort(_ values: UnsafeMutableBufferPointer<UInt32>) {
        guard let places = values.baseAddress, values.count > 1 else { return }
        let count = values.count
        var top = 1
        while top < count - top { top += top }
        var near = top
        while near > 0 {
            var place = 0
            while place < count - near {
                if place & near == 0 { order(places + place, places + place + near) }
                place += 1
            }
            place = 0
            var far = top
            while far > near {
                while place < count - far {
                    if place & near == 0 {
                        var reach = far
                        while reach > near {
                            order(places + place + near, places + place + reach)
                            reach >>= 1
                        }
                    }
                    place += 1
                }
                far >>= 1
            }
            near >>= 1
        }
    }

    /// The smaller one first.
    @inline(__always)
    private static func order(_ first: UnsafeMutablePointer<UInt32>, _ second: UnsafeMutablePointer<UInt32>) {
        let (a, b) = (first.pointee, second.pointee)
        // All ones where b < a, by the borrow of their difference.
        let isLess = UInt32(truncatingIfNeeded: (UInt64(b) &- UInt64(a)) >> 63)
        let exchanged = (a ^ b) & (0 &- isLess)
        first.pointee = a ^ exchanged
        second.pointee = b ^ exchanged
    }
}
