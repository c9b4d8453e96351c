declare module 'kafkajs-snappy' {
  interface Codec {
    compress(records: { buffer: Buffer }): Promise<Buffer>;
    decompress(buffer: Buffer): Promise<Buffer>;
  }
  export default function snappyCodec(): Codec;
}
