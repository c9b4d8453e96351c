import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { SCHEMA_FOLDER } from './read-documents.mjs';

/** Which schemas are no JSON Schema of draft 07, or hold a keyword or a format that does not exist. */
export function schemaProblems(documents) {
  const schemas = [...documents].filter(([file]) => file.startsWith(`${SCHEMA_FOLDER}/`));
  const ajv = new Ajv({ strict: true, strictRequired: false, allowUnionTypes: true });
  formats.default(ajv);
  const problems = [];
  const attempt = (file, act) => {
    try {
      act();
    } catch (error) {
      problems.push(`${file}: ${error.message}`);
    }
  };
  for (const [file, schema] of schemas) attempt(file, () => ajv.addSchema(schema, file));
  for (const [file] of schemas) attempt(file, () => ajv.getSchema(file));
  return problems;
}
