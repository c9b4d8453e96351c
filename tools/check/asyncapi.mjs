// Checks the document of topics and events: against the AsyncAPI specification, its schemas and its references.
import { ROOT, say } from '../setup/command.mjs';
import { problemsOf } from './asyncapi/problems.mjs';
import { readDocuments } from './asyncapi/read-documents.mjs';

const problems = problemsOf(readDocuments(ROOT));
for (const problem of problems) say(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
