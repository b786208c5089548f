import CSodium

/// Memory for the length of a call, zero at its beginning and zeroed at its end.
func withWipedMemory<Element: FixedWidthInteger, Result>(
    _ type: Element.Type, count: Int, _ body: (UnsafeMutableBufferPointer<Element>) -> Result
) -> Result {
    let memory = UnsafeMutableBufferPointer<Element>.allocate(capacity: count)
    memory.initialize(repeating: 0)
    defer {
        sodium_memzero(memory.baseAddress, count * MemoryLayout<Element>.stride)
        memory.deallocate()
    }
    return body(memory)
}
