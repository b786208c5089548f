/// The form in which a core transfers a file: an encrypted stream of header, content and padding, the tag last.
///
/// A file that is staged in this form is transferred as it is. The header's length does not depend on the content's.
public struct StreamForm: Sendable {
    /// Returns the bytes before a content of `size` bytes. All but the first 16 are the same for every size.
    public let header: @Sendable (_ size: UInt64) -> [UInt8]
    /// Returns the length of header, content and padding in bytes, a multiple of 16.
    public let length: @Sendable (_ size: UInt64) -> UInt64

    public init(
        header: @escaping @Sendable (_ size: UInt64) -> [UInt8],
        length: @escaping @Sendable (_ size: UInt64) -> UInt64
    ) {
        self.header = header
        self.length = length
    }
}
