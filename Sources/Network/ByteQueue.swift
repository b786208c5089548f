/// A queue of bytes in one reusable piece of memory. Not for sharing between threads.
final class ByteQueue {
    // The memory is private to this class: every index is checked against `capacity` here.
    private var memory: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0

    init(capacity: Int) { memory = .allocate(byteCount: capacity, alignment: 64) }

    deinit { memory.deallocate() }

    var count: Int { end - start }
    var isEmpty: Bool { start == end }
    /// The bytes that can be appended without more memory.
    var freeCapacity: Int { memory.count - end }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[start..<end]) }

    func removeAll() {
        start = 0
        end = 0
    }

    /// Removes the first `count` bytes.
    func removeFirst(_ count: Int) {
        start += min(count, self.count)
        if start == end { removeAll() }
    }

    /// Appends bytes, allocating memory if necessary.
    func append(_ bytes: UnsafeRawBufferPointer) {
        reserve(bytes.count)
        UnsafeMutableRawBufferPointer(rebasing: memory[end...]).copyMemory(from: bytes)
        end += bytes.count
    }

    /// Appends up to `count` bytes that `fill` writes in place; `fill` returns their number.
    func append<Failure: Error>(
        upTo count: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        reserve(count)
        let written = try fill(UnsafeMutableRawBufferPointer(rebasing: memory[end..<end + count]))
        precondition((0...count).contains(written), "more bytes were announced than fit")
        end += written
        return written
    }

    private func reserve(_ count: Int) {
        guard freeCapacity < count else { return }
        if start > 0 {
            memory.copyMemory(from: bytes)
            end -= start
            start = 0
        }
        guard freeCapacity < count else { return }
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(memory.count * 2, end + count), alignment: 64)
        larger.copyMemory(from: bytes)
        memory.deallocate()
        memory = larger
    }
}
