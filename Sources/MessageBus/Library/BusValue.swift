/// A D-Bus value of the supported types.
public enum BusValue: Hashable, Sendable {
    case text(String)
    case number(UInt32)
    case integer(Int32)
    case long(Int64)
    case byte(UInt8)
    case flag(Bool)
    case texts([String])
    case hints([String: BusValue])
    /// Red, green and blue with 8 bits each, row by row without padding: `image-data` of notifications.
    case picture(width: Int32, height: Int32, pixels: [UInt8])
    /// An open file; the message duplicates the descriptor.
    case descriptor(Int32)

    static let textType = Int32(UInt8(ascii: "s"))
    static let numberType = Int32(UInt8(ascii: "u"))
    static let integerType = Int32(UInt8(ascii: "i"))
    static let longType = Int32(UInt8(ascii: "x"))
    static let byteType = Int32(UInt8(ascii: "y"))
    static let flagType = Int32(UInt8(ascii: "b"))
    static let arrayType = Int32(UInt8(ascii: "a"))
    static let entryType = Int32(UInt8(ascii: "e"))
    static let descriptorType = Int32(UInt8(ascii: "h"))
    static let structureType = Int32(UInt8(ascii: "r"))
    static let variantType = Int32(UInt8(ascii: "v"))

    var signature: String {
        switch self {
        case .text: "s"
        case .number: "u"
        case .integer: "i"
        case .long: "x"
        case .byte: "y"
        case .flag: "b"
        case .texts: "as"
        case .hints: "a{sv}"
        case .picture: "(iiibiiay)"
        case .descriptor: "h"
        }
    }
}
