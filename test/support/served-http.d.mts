export function watchServedHttp(onWritten: (text: string) => void): () => void;
