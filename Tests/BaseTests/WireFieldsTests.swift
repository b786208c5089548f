import Base
import Testing

/// Fields survive a round trip, and incomplete ones do not move the reader.
@Suite("Fields on the wire")
struct WireFieldsTests {
    /// Reads a complete field and each of its beginnings.
    private func check<Value: Equatable>(
        _ value: Value, _ written: (inout [UInt8]) -> Void, _ read: (inout ByteReader) -> Value?
    ) {
        var bytes: [UInt8] = []
        written(&bytes)
        var whole = ByteReader(bytes + [0xEE])
        #expect(read(&whole) == value)
        #expect(whole.remaining == 1, "it took what is not its own")
        for length in 0..<bytes.count {
            var cut = ByteReader(Array(bytes.prefix(length)))
            #expect(read(&cut) == nil, "read of \(length) of \(bytes.count) bytes")
            #expect(cut.position == 0)
        }
    }

    @Test("byte strings of every length", arguments: [0, 1, 2, 254, 255])
    func byteStrings(length: Int) {
        let value = [UInt8](repeating: 7, count: length)
        check(value, { $0.append(byteString: value) }, { $0.byteString() })
    }

    @Test("large strings have a 2-byte length", arguments: [0, 1, 255, 256, 1000])
    func large(length: Int) {
        let value = [UInt8](repeating: 7, count: length)
        check(value, { $0.append(large: value) }, { $0.large() })
        var bytes: [UInt8] = []
        bytes.append(large: value)
        #expect(bytes.prefix(2) == [UInt8(length >> 8), UInt8(length & 255)])
    }

    @Test("the longest string survives a round trip")
    func longest() {
        let value = [UInt8](repeating: 9, count: 65_535)
        var bytes: [UInt8] = []
        bytes.append(large: value)
        var reader = ByteReader(bytes)
        #expect(reader.large() == value && reader.remaining == 0)
        var cut = ByteReader(bytes.dropLast())
        #expect(cut.large() == nil && cut.position == 0)
    }

    @Test("writing an oversized string traps")
    func tooLong() async {
        await #expect(processExitsWith: .failure) {
            var bytes: [UInt8] = []
            bytes.append(byteString: [UInt8](repeating: 0, count: 256))
        }
        await #expect(processExitsWith: .failure) {
            var bytes: [UInt8] = []
            bytes.append(large: [UInt8](repeating: 0, count: 65_536))
        }
        await #expect(processExitsWith: .failure) {
            var bytes: [UInt8] = []
            bytes.append(byteStrings: [])
        }
        await #expect(processExitsWith: .failure) {
            var bytes: [UInt8] = []
            bytes.append(byteStrings: [[UInt8]](repeating: [], count: 256))
        }
    }

    @Test("Booleans are T and F only")
    func bools() {
        check(true, { $0.append(bool: true) }, { $0.bool() })
        check(false, { $0.append(bool: false) }, { $0.bool() })
        for byte in UInt8.min...UInt8.max where byte != UInt8(ascii: "T") && byte != UInt8(ascii: "F") {
            var reader = ByteReader([byte])
            #expect(reader.bool() == nil && reader.position == 0)
        }
    }

    @Test("optional values are present, absent or malformed")
    func optionals() {
        for value in [[1, 2], nil] as [[UInt8]?] {
            check(
                value, { bytes in bytes.append(optional: value) { $0.append(byteString: $1) } },
                { $0.optionalByteString() })
        }
        for byte in UInt8.min...UInt8.max where byte != UInt8(ascii: "0") && byte != UInt8(ascii: "1") {
            var reader = ByteReader([byte, 1, 1])
            #expect(reader.optionalByteString() == nil && reader.position == 0)
        }
    }

    @Test("lists of one to 255 values", arguments: [1, 2, 255])
    func lists(count: Int) {
        let values = (0..<count).map { [UInt8](repeating: UInt8($0), count: $0 % 3) }
        check(values, { $0.append(byteStrings: values) }, { $0.byteStrings() })
    }

    @Test("only some lists may be empty")
    func emptyLists() {
        var bytes: [UInt8] = []
        bytes.append(list: [UInt16](), mayBeEmpty: true) { $0.append(bigEndian: $1) }
        #expect(bytes == [0])
        var strict = ByteReader(bytes)
        #expect(strict.list { $0.integer(UInt16.self) } == nil && strict.position == 0)
        var lenient = ByteReader(bytes)
        #expect(lenient.list(mayBeEmpty: true) { $0.integer(UInt16.self) } == [])
        #expect(lenient.position == 1)
    }

    @Test("integers are big endian")
    func integers() {
        func both<Number: FixedWidthInteger>(_ number: Number) {
            check(number, { $0.append(bigEndian: number) }, { $0.integer(Number.self) })
        }
        for number in [UInt8.min, 1, .max] { both(number) }
        for number in [Int8.min, -1, .max] { both(number) }
        for number in [UInt16.min, 0x0102, .max] { both(number) }
        for number in [Int32.min, -1, 0x0102_0304, .max] { both(number) }
        for number in [UInt64.min, 0x0102_0304_0506_0708, .max] { both(number) }
        var reader = ByteReader([1, 2, 3, 4])
        #expect(reader.integer(UInt32.self) == 0x0102_0304)
    }

    @Test("slices read like byte arrays")
    func slices() {
        var reader = ByteReader([1, 2, 3])
        #expect(reader.slice(4) == nil && reader.slice(-1) == nil && reader.position == 0)
        #expect(reader.slice(2).map(Array.init) == [1, 2])
        #expect(reader.slice(0).map(Array.init) == [])
        #expect(reader.slice(2) == nil && reader.position == 2)
        #expect(reader.slice(1).map(Array.init) == [3])
        #expect(reader.rest() == [])
    }
}
