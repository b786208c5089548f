/// First in, first out, each in constant time.
public struct ElementQueue<Element: Sendable>: Sendable {
    private var elements: [Element?] = []
    private var start = 0

    public init() {}

    /// The next element to leave.
    public var first: Element? { start < elements.count ? elements[start] : nil }

    public mutating func append(_ element: Element) { elements.append(element) }

    public mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        defer {
            elements[start] = nil
            start += 1
            if start == elements.count {
                elements.removeAll(keepingCapacity: start < 64)
                start = 0
            } else if start >= 64, start * 2 >= elements.count {
                elements.removeFirst(start)
                start = 0
            }
        }
        return elements[start]
    }
}
