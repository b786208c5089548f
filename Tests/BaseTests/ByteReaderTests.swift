import Base
import Testing

@Suite struct ByteReaderTests {
    @Test func fieldsAreReadInOrderAndBigEndian() {
        var reader = ByteReader([1, 0, 2, 0, 0, 0, 3, 9, 8])
        #expect(reader.byte() == 1)
        #expect(reader.integer(UInt16.self) == 2)
        #expect(reader.integer(UInt32.self) == 3)
        #expect(reader.rest() == [9, 8])
        #expect(reader.remaining == 0)
    }

    @Test func aMissingFieldMovesNothing() {
        var reader = ByteReader([1, 2, 3])
        #expect(reader.integer(UInt32.self) == nil)
        #expect(reader.bytes(4) == nil)
        #expect(reader.bytes(-1) == nil)
        #expect(reader.position == 0)
        #expect(reader.bytes(3) == [1, 2, 3])
        #expect(reader.byte() == nil)
    }

    @Test func integersSurviveARoundTrip() {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: Int64(-2))
        bytes.append(bigEndian: UInt16(0xABCD))
        var reader = ByteReader(bytes)
        #expect(reader.integer(Int64.self) == -2)
        #expect(reader.integer(UInt16.self) == 0xABCD)
    }

    @Test func hexadecimalRefusesOtherCharacters() {
        #expect(Hexadecimal.encode([0, 255, 16]) == "00ff10")
        #expect(Hexadecimal.decode("00FF10") == [0, 255, 16])
        #expect(Hexadecimal.decode("0") == nil)
        #expect(Hexadecimal.decode("zz") == nil)
        #expect(Hexadecimal.decode("０0") == nil)
    }
}
